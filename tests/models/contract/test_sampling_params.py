from __future__ import annotations

import pytest

from models.contract.errors import InvalidRequestError
from models.contract.sampling_params import SamplingParams


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_tokens", 0),
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("temperature", 2.5),
        ("temperature", 1e-50),
        ("top_k", -1),
        ("top_k", 2**31),
        ("top_p", 0.0),
        ("top_p", 1e-50),
        ("top_p", 1e-38),
        ("top_p", 1.01),
        ("min_p", -0.5),
        ("min_p", float("inf")),
        ("seed", 2**63),
        ("repetition_penalty", 1e-50),
        ("stop", ("",)),
        ("stop", ("a", "b", "c", "d", "e")),
        ("logprobs", 21),
        ("logprobs", -1),
    ],
)
def test_a_value_out_of_range_is_named_with_the_remedy(field: str, value: object):
    with pytest.raises(InvalidRequestError, match=f"`{field}` is .*must be") as caught:
        SamplingParams(**{field: value})
    assert caught.value.field == field


def test_the_borders_of_every_range_are_allowed():
    low = SamplingParams(max_tokens=1, temperature=0, top_k=0, top_p=1, min_p=0, seed=-(2**63), logprobs=0)
    high = SamplingParams(temperature=2, min_p=1, seed=2**63 - 1, stop=("a",) * 4, logprobs=20)
    assert (low.seed, low.logprobs) == (-(2**63), 0)
    assert (high.seed, high.logprobs) == (2**63 - 1, 20)
    tiny = SamplingParams(temperature=2.0**-126, top_p=2.0**-126, repetition_penalty=1e-6)
    assert tiny.temperature == tiny.top_p > 0


@pytest.mark.parametrize("top_p", [0.0, 1e-50])
def test_a_top_p_that_float32_does_not_hold_says_what_to_use_instead(top_p: float):
    with pytest.raises(InvalidRequestError, match="use `temperature` 0 or `top_k` 1"):
        SamplingParams(top_p=top_p)


@pytest.mark.parametrize(
    ("biases", "words"),
    [
        (((4, 1.0), (-1, 3.0)), r"is \{-1: 3.0\}. It must be of ids of at least 0"),
        (((4, 1.0), (7, 3.0), (4, 2.0)), r"each once \(4 is given twice\)"),
        (tuple((i, 1.0) for i in range(301)), "is '301 pairs'. It must be at most 300 ids"),
        (((4, 101.0),), "is 101.0. It must be a number from -100 to 100 for id 4"),
    ],
)
def test_a_bias_that_is_refused_is_named(biases: tuple[tuple[int, float], ...], words: str):
    with pytest.raises(InvalidRequestError, match=words):
        SamplingParams(logit_bias=biases)
