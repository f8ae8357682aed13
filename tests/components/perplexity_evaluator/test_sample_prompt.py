from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.perplexity_evaluator.eval_window import EvalWindow
from components.perplexity_evaluator.sample_config import SampleConfig
from components.perplexity_evaluator.sample_prompt import choose_prompts


def _window(
    document: str, source: str, length: int = 40, answer_from: int | None = None, begin: int | None = None
) -> EvalWindow:
    """Documents begin differently, unless the test says how."""
    first = int.from_bytes(document.encode()) if begin is None else begin
    ids = (first, *range(1, length))
    return EvalWindow(ids, answer_from or 1, 9, document, source, "up to 512 tokens", answer_from)


CONFIG = SampleConfig(prompts=4, prompt_tokens=12, max_tokens=8)


def test_a_prompt_is_the_beginning_of_a_window_and_the_reference_what_follows():
    (prompt,) = choose_prompts([_window("d", "s", begin=0)], CONFIG, 100)
    assert prompt.ids == tuple(range(12))
    assert prompt.reference == tuple(range(12, 20))


def test_a_short_window_is_halved():
    (prompt,) = choose_prompts([_window("d", "s", 10, begin=0)], CONFIG, 100)
    assert (prompt.ids, prompt.reference) == (tuple(range(5)), tuple(range(5, 10)))


@pytest.mark.parametrize(("length", "wanted"), [(2, []), (4, []), (5, [4]), (6, [4]), (9, [4]), (11, [5])])
def test_a_prompt_of_fewer_than_four_tokens_is_none(length: int, wanted: list[int]):
    found = choose_prompts([_window("d", "s", length)], CONFIG, 100)
    assert [len(prompt.ids) for prompt in found] == wanted
    short = CONFIG.model_copy(update={"prompt_tokens": 1})
    assert [len(prompt.ids) for prompt in choose_prompts([_window("d", "s", length)], short, 100)] == [1]


def test_long_prompts_come_first_and_the_long_window_of_a_document():
    windows = [_window("a", "s", 8), _window("b", "s", 8), _window("b", "s", 40), _window("c", "s", 16)]
    found = choose_prompts(windows, CONFIG, 100)
    assert [(prompt.document, len(prompt.ids)) for prompt in found] == [("b", 12), ("c", 8), ("a", 4)]


def test_the_same_prompt_comes_once_even_from_several_sources():
    windows = [_window(f"d{i}", f"s{i % 2}", begin=7) for i in range(4)] + [_window("e", "s0", begin=8)]
    found = choose_prompts(windows, CONFIG, 100)
    assert [prompt.document for prompt in found] == ["d0", "e"]


def test_of_a_conversation_everything_before_an_answer_is_the_prompt():
    windows = [_window("d", "s", begin=0), _window("d", "s", answer_from=25, begin=0)]
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


def test_a_document_that_begins_like_another_is_asked_from_elsewhere():
    windows = [_window("a", "s", begin=7), _window("b", "s", begin=7), _window("b", "s", 30, begin=8)]
    found = choose_prompts(windows, CONFIG, 100)
    assert [(prompt.document, prompt.ids[0]) for prompt in found] == [("a", 7), ("b", 8)]


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
    found = choose_prompts(windows, CONFIG, max_length)
    assert len({prompt.ids for prompt in found}) == len(found)
    for prompt in found:
        assert 1 <= len(prompt.ids) <= max_length - CONFIG.max_tokens
        assert 1 <= len(prompt.reference) <= CONFIG.max_tokens
