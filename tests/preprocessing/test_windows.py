from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.contract.errors import ConfigError
from preprocessing.windows import Window, answer_windows, windows


def _first_window_with_a_predecessor(token: int, context: int, stride: int) -> int | None:
    """The definition, spelled out: start of the window that scores a token."""
    starts = [start for start in range(0, token, stride) if start < token < start + context]
    return min(starts) if starts else None


@given(st.integers(0, 200), st.integers(2, 40), st.integers(1, 40))
def test_a_token_is_scored_once_in_the_first_window_that_holds_it_and_a_predecessor(
    num_tokens: int, context: int, stride: int
):
    stride = min(stride, context)
    scored_in: dict[int, int] = {}
    for window in windows(num_tokens, context, stride):
        assert 0 <= window.start < window.end <= num_tokens
        assert window.end - window.start <= context
        assert window.score_from >= 1
        for token in range(window.start + window.score_from, window.end):
            assert token not in scored_in
            scored_in[token] = window.start
    wanted = {t: _first_window_with_a_predecessor(t, context, stride) for t in range(num_tokens)}
    assert scored_in == {token: start for token, start in wanted.items() if start is not None}


@given(st.integers(0, 200), st.integers(2, 40), st.integers(1, 40))
def test_every_window_scores_something(num_tokens: int, context: int, stride: int):
    assert all(window.scored > 0 for window in windows(num_tokens, context, min(stride, context)))


def test_with_overlap_all_tokens_but_the_first_are_scored():
    assert windows(10, 4, 2) == [Window(0, 4, 1), Window(2, 6, 2), Window(4, 8, 2), Window(6, 10, 2)]


def test_without_overlap_the_first_of_each_window_is_not_scored():
    assert windows(10, 4, 4) == [Window(0, 4, 1), Window(4, 8, 1), Window(8, 10, 1)]
    assert windows(9, 4, 4) == [Window(0, 4, 1), Window(4, 8, 1)]


@pytest.mark.parametrize("num_tokens", [0, 1])
def test_nothing_can_be_scored_without_two_tokens(num_tokens: int):
    assert windows(num_tokens, 8, 4) == []


@pytest.mark.parametrize(
    ("context", "stride", "field"), [(1, 1, "context"), (0, 1, "context"), (4, 0, "stride"), (4, 5, "stride")]
)
def test_impossible_windows_are_refused_by_name(context: int, stride: int, field: str):
    with pytest.raises(ConfigError, match=f"`{field}`") as caught:
        windows(10, context, stride)
    assert caught.value.field == field


flags = st.lists(st.integers(1, 12), max_size=12).flatmap(
    lambda lengths: st.booleans().map(
        lambda first: [(index % 2 == 0) == first for index, n in enumerate(lengths) for _ in range(n)]
    )
)


@given(flags, st.integers(2, 16), st.integers(1, 16))
def test_each_token_of_an_answer_is_scored_once_and_no_other(learned: list[bool], context: int, stride: int):
    stride = min(stride, context)
    found = answer_windows(learned, context, stride)
    scored = [token for window in found for token in range(window.start + window.score_from, window.end)]
    assert sorted(scored) == [token for token, flag in enumerate(learned) if flag and token]
    for window in found:
        assert 1 <= window.score_from < window.end - window.start <= context
        # As much history as fits: only the conversation's beginning makes a window shorter.
        assert window.start == 0 or window.end - window.start == context
        assert window.end <= context or window.scored <= stride


def test_an_answer_is_one_window_if_it_fits_and_split_with_history_if_not():
    chat = [False] * 3 + [True] * 2 + [False] * 4 + [True] * 5
    assert answer_windows(chat, 20, 4) == [Window(0, 5, 3), Window(0, 14, 9)]
    assert answer_windows(chat, 8, 8) == [Window(0, 5, 3), Window(6, 14, 3)]
    assert answer_windows(chat, 8, 4) == [Window(0, 5, 3), Window(5, 13, 4), Window(6, 14, 7)]
    assert answer_windows([True] * 9, 4, 4) == [Window(0, 4, 1), Window(3, 7, 1), Window(5, 9, 2)]


@pytest.mark.parametrize("learned", [[], [True], [False] * 9])
def test_a_conversation_without_an_answer_has_no_windows(learned: list[bool]):
    assert answer_windows(learned, 4, 2) == []


def test_impossible_answer_windows_are_refused_by_name():
    with pytest.raises(ConfigError, match="`stride`"):
        answer_windows([False, True], 4, 5)
