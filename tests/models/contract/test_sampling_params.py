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
        ("top_k", -1),
        ("top_k", 2**31),
        ("top_p", 0.0),
        ("top_p", 1.01),
        ("min_p", -0.5),
        ("min_p", float("inf")),
        ("seed", 2**63),
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
    high = SamplingParams(temperature=2, top_p=1e-9, min_p=1, seed=2**63 - 1, stop=("a",) * 4, logprobs=20)
    assert (low.seed, low.logprobs) == (-(2**63), 0)
    assert (high.seed, high.logprobs, high.top_p) == (2**63 - 1, 20, 1e-9)
