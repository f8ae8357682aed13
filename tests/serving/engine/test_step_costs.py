from __future__ import annotations

import pytest

from serving.engine.step_costs import StepCosts


def test_before_anything_is_measured_it_guesses_and_longer_costs_more():
    costs = StepCosts()
    assert 1 < costs.ratio(1, 4) < costs.ratio(1, 16) < 2.5


def test_the_ratio_is_of_medians_whatever_single_calls_took():
    costs = StepCosts()
    for seconds in (0.4, 0.04, 0.04, 9.0, 0.04):
        costs.decoded(1, 4, seconds)
    for seconds in (5.0, 0.015, 0.015):
        costs.verified(1, 4, seconds)
    assert costs.ratio(1, 4) == pytest.approx(1.5)
    assert costs.ratio(1, 7) == pytest.approx(1.5)


def test_rows_and_lengths_are_told_apart():
    costs = StepCosts()
    costs.decoded(1, 1, 0.01)
    costs.decoded(2, 1, 0.01)
    costs.verified(1, 4, 0.02)
    costs.verified(2, 4, 0.03)
    costs.verified(1, 16, 0.05)
    assert [costs.ratio(*key) for key in ((1, 4), (2, 4), (1, 16))] == pytest.approx([2, 3, 5])


def test_a_call_is_never_cheaper_than_a_step():
    costs = StepCosts()
    costs.decoded(1, 1, 0.02)
    costs.verified(1, 4, 0.01)
    assert costs.ratio(1, 4) == 1
