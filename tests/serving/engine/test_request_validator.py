from __future__ import annotations

import pytest

from models.contract.errors import ContextLengthError, InvalidRequestError
from models.contract.sampling_params import SamplingParams
from serving.engine.engine_config import EngineConfig
from serving.engine.request_validator import RequestValidator


def max_tokens(prompt: list[int], wish: int = 16, *, cap: bool = False, num_blocks: int = 65) -> int:
    config = EngineConfig(vocab_size=257, max_length=64, block_size=4, num_blocks=num_blocks)
    return RequestValidator(config).max_tokens(prompt, SamplingParams(max_tokens=wish), cap=cap)


def test_what_fits_is_granted():
    assert max_tokens([0, 256]) == 16
    assert max_tokens([1] * 48, 16) == 16
    assert max_tokens([1] * 63, 1) == 1


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ([], "the prompt is empty"),
        ([5, 257], "id 257 at position 1.*from 0 to 256"),
        ([-1], "id -1 at position 0"),
    ],
)
def test_a_wrong_prompt_is_refused(prompt: list[int], message: str):
    with pytest.raises(InvalidRequestError, match=message) as caught:
        max_tokens(prompt)
    assert caught.value.field == "prompt"


@pytest.mark.parametrize("cap", [False, True])
def test_a_prompt_that_fills_the_context_is_refused_with_both_numbers(cap: bool):
    message = r"has 64 tokens; .* that is 65, and the model's context is 64.*at most 63"
    with pytest.raises(ContextLengthError, match=message) as caught:
        max_tokens([1] * 64, 1, cap=cap)
    assert caught.value.field == "prompt"


def test_an_answer_that_does_not_fit_is_refused_unless_nobody_asked_for_its_length():
    message = r"60 tokens and `max_tokens` is 5, together 65; the model's context is 64.*at most 4 tokens"
    with pytest.raises(ContextLengthError, match=message) as caught:
        max_tokens([1] * 60, 5)
    assert caught.value.field == "max_tokens"
    assert max_tokens([1] * 60, 5, cap=True) == 4


def test_what_could_never_fit_into_all_blocks_is_refused():
    with pytest.raises(ContextLengthError, match="together 18; what all KV blocks hold is 17"):
        max_tokens([1] * 10, 8, num_blocks=5)
    assert max_tokens([1] * 10, 7, num_blocks=5) == 7
    assert max_tokens([1] * 10, 8, num_blocks=5, cap=True) == 7
