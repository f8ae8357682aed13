from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.contract.errors import ConfigError
from preprocessing.windows import Window, windows


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
