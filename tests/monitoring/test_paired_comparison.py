from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.paired_comparison import PairedComparison
from monitoring.perplexity import paired_interval

SCORED = np.array([10, 20, 30, 40])
BASELINE = SCORED * np.array([1.0, 2.0, 3.0, 2.5])
CANDIDATE = BASELINE - SCORED * np.array([0.1, 0.05, 0.2, 0.0])
BYTES = SCORED * 3
losses = st.lists(st.floats(0.01, 50), min_size=2, max_size=8)


def test_figures_agree_with_their_definitions():
    found = PairedComparison.measure(CANDIDATE, BASELINE, SCORED, BYTES, samples=200)
    assert found.perplexity.value == pytest.approx(math.exp(CANDIDATE.sum() / 100))
    assert found.baseline_perplexity.value == pytest.approx(math.exp(BASELINE.sum() / 100))
    assert found.ratio.value == pytest.approx(found.perplexity.value / found.baseline_perplexity.value)
    assert found.bits_per_byte.value == pytest.approx(CANDIDATE.sum() / math.log(2) / 300)
    change = found.bits_per_byte.value - found.baseline_bits_per_byte.value
    assert found.bits_per_byte_change.value == pytest.approx(change)
    assert found.units == 4


def test_the_ratio_s_interval_is_the_paired_one():
    found = PairedComparison.measure(CANDIDATE, BASELINE, SCORED, BYTES, units="aabc", samples=300, seed=4)
    wanted = paired_interval(CANDIDATE, BASELINE, SCORED, units="aabc", samples=300, seed=4)
    assert found.ratio == pytest.approx(wanted)


@given(losses, st.integers(0, 3))
def test_intervals_hold_what_resampling_can_reach(sums: list[float], seed: int):
    counts = np.arange(1, len(sums) + 1)
    found = PairedComparison.measure(sums, sums[::-1], counts, counts * 2, samples=100, seed=seed)
    per_token = np.array(sums) / counts
    assert math.exp(per_token.min()) * 0.999 <= found.perplexity.low
    assert found.perplexity.high <= math.exp(per_token.max()) * 1.001
    assert found.bits_per_byte.low <= found.bits_per_byte.high


def test_the_same_model_twice_has_ratio_one_and_no_change():
    found = PairedComparison.measure(BASELINE, BASELINE, SCORED, BYTES, samples=100)
    assert found.ratio == (1.0, 1.0, 1.0)
    assert found.bits_per_byte_change == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_spoils_its_own_figures_only(bad: float):
    candidate = np.array([bad, *CANDIDATE[1:]])
    found = PairedComparison.measure(candidate, BASELINE, SCORED, BYTES, samples=100)
    assert not math.isfinite(found.perplexity.value)
    assert math.isnan(found.ratio.low)
    assert math.isfinite(found.baseline_perplexity.high)


def test_one_unit_has_no_interval():
    found = PairedComparison.measure(CANDIDATE, BASELINE, SCORED, BYTES, units="aaaa")
    assert math.isnan(found.perplexity.low)
    assert found.ratio.value < 1


def test_nothing_scored_is_nan():
    found = PairedComparison.measure([0.0], [0.0], [0], [0])
    assert math.isnan(found.perplexity.value)
    assert math.isnan(found.ratio.value)


def test_figures_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="shape"):
        PairedComparison.measure([1.0], [1.0, 2.0], [1, 1], [1, 1])
