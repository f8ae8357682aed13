from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.text_checks import TextFigures, distinct_share, repeated_share

rows = st.lists(st.lists(st.integers(0, 5), max_size=30), max_size=6)


@pytest.mark.parametrize(
    ("ids", "share"), [([1, 2, 3], None), ([1, 2, 3, 4], 0.0), ([1] * 8, 0.8), ([1, 2, 3, 4] * 2, 0.2)]
)
def test_repetition_is_the_share_of_4_grams_seen_before(ids: list[int], share: float | None):
    assert repeated_share(ids) == (None if share is None else pytest.approx(share))


def test_variety_counts_2_grams_over_all_completions():
    assert distinct_share([[1, 2, 3], [1, 2]]) == pytest.approx(2 / 3)
    assert distinct_share([[1], []]) is None


@given(rows)
def test_shares_are_shares(ids: list[list[int]]):
    figures = TextFigures.measure(ids, [" " * (len(row) % 2) + "x" * (len(row) > 3) for row in ids])
    assert figures.completions == len(ids)
    for share in (figures.repeated, figures.distinct, figures.empty):
        assert share is None or 0 <= share <= 1
    assert figures.empty == (sum(len(row) <= 3 for row in ids) / len(ids) if ids else 0)


@given(st.lists(st.integers(), min_size=4, max_size=20, unique=True))
def test_a_text_without_repetition_has_none_and_doubled_it_has_some(ids: list[int]):
    assert repeated_share(ids) == 0
    assert repeated_share(ids + ids) > 0
