from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from components.perplexity_evaluator.eval_window import EvalWindow
from components.perplexity_evaluator.sample_config import SampleConfig
from components.perplexity_evaluator.sample_prompt import choose_prompts


def _window(document: str, source: str, length: int = 40, answer_from: int | None = None) -> EvalWindow:
    ids = tuple(range(length))
    return EvalWindow(ids, answer_from or 1, 9, document, source, "up to 512 tokens", answer_from)


CONFIG = SampleConfig(prompts=4, prompt_tokens=12, max_tokens=8)


def test_a_prompt_is_the_beginning_of_a_window_and_the_reference_what_follows():
    (prompt,) = choose_prompts([_window("d", "s")], CONFIG, 100)
    assert prompt.ids == tuple(range(12))
    assert prompt.reference == tuple(range(12, 20))


def test_a_short_window_is_halved():
    (prompt,) = choose_prompts([_window("d", "s", 6)], CONFIG, 100)
    assert (prompt.ids, prompt.reference) == ((0, 1, 2), (3, 4, 5))


def test_of_a_conversation_everything_before_an_answer_is_the_prompt():
    windows = [_window("d", "s"), _window("d", "s", answer_from=25)]
    (prompt,) = choose_prompts(windows, CONFIG, 100)
    assert prompt.ids == tuple(range(25))
    assert prompt.reference == tuple(range(25, 33))
    (cut,) = choose_prompts(windows, CONFIG, 18)
    assert cut.ids == tuple(range(15, 25))


def test_sources_take_turns_and_documents_come_once():
    windows = [_window(f"a{i}", "a") for i in range(5)] + [_window("b0", "b"), _window("b0", "b", 30)]
    found = choose_prompts(windows, CONFIG, 100)
    assert [prompt.source for prompt in found] == ["a", "b", "a", "a"]
    assert len({prompt.document for prompt in found}) == 4


def test_without_room_there_are_no_prompts():
    assert choose_prompts([_window("d", "s")], CONFIG, 8) == []
    assert choose_prompts([_window("d", "s")], CONFIG.model_copy(update={"prompts": 0}), 100) == []


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(2, 50), st.booleans()), max_size=12),
    st.integers(1, 60),
    st.integers(0, 9),
)
def test_prompts_always_fit_and_have_something_to_compare_with(rows, max_length, seed):
    windows = [
        _window(str(i), f"s{source}", length, length // 2 if chat else None)
        for i, (source, length, chat) in enumerate(rows)
    ]
    random.Random(seed).shuffle(windows)
    for prompt in choose_prompts(windows, CONFIG, max_length):
        assert 1 <= len(prompt.ids) <= max_length - CONFIG.max_tokens
        assert 1 <= len(prompt.reference) <= CONFIG.max_tokens
