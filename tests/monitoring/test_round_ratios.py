from __future__ import annotations

from monitoring.round_ratios import RoundRatio, round_ratio


def test_the_ratio_is_taken_within_a_round_before_the_median():
    # Both sides are half as fast in round 1: the ratio of medians would be the same, that of rounds is 2.
    assert round_ratio({0: 2.0, 1: 4.0, 2: 2.2}, {0: 1.0, 1: 2.0, 2: 1.0}) == RoundRatio(2.0, 2.0, 2.2, 3)


def test_rounds_that_only_one_side_ran_do_not_count():
    assert round_ratio({0: 3.0, 1: 9.0}, {0: 1.0}) == RoundRatio(3.0, 3.0, 3.0, 1)


def test_without_a_common_round_there_is_no_ratio():
    assert round_ratio({0: 3.0}, {1: 1.0}) is None
