from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.paired_comparison import Estimate, PairedComparison

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


def _ratio(candidate: np.ndarray, baseline: np.ndarray, scored: np.ndarray, **options: Any) -> Estimate:
    return PairedComparison.measure(candidate, baseline, scored, scored * 4, **options).ratio


def _windows(count: int, gain: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Baseline losses that vary much between windows, and a candidate that gains a little on each."""
    draw = np.random.default_rng(seed)
    scored = draw.integers(50, 500, count)
    baseline = scored * draw.uniform(0.5, 4.0, count)
    candidate = baseline + scored * (math.log(gain) + draw.normal(0, 0.05, count))
    return candidate, baseline, scored


def test_pairing_sees_a_small_gain_under_large_differences_between_texts():
    candidate, baseline, scored = _windows(40, 0.95, 0)
    interval = _ratio(candidate, baseline, scored)
    exact = math.exp((candidate.sum() - baseline.sum()) / scored.sum())
    assert interval.value == pytest.approx(exact)
    assert 0.9 < interval.low < interval.value < interval.high < 1


def test_the_interval_covers_the_truth_as_often_as_it_says():
    covered = sum(
        interval.low <= 0.95 <= interval.high
        for interval in (_ratio(*_windows(40, 0.95, seed), samples=500) for seed in range(200))
    )
    assert 0.88 <= covered / 200 <= 0.99


def test_the_same_seed_gives_the_same_interval():
    sums = _windows(12, 0.9, 0)
    assert _ratio(*sums, seed=4) == _ratio(*sums, seed=4)
    assert _ratio(*sums, seed=4) != _ratio(*sums, seed=5)


def test_windows_of_one_document_are_drawn_together():
    candidate = np.array([1.0, 1.0, 3.0, 3.0] * 5)
    baseline, scored = np.full(20, 2.0), np.ones(20, int)
    apart = _ratio(candidate, baseline, scored)
    together = _ratio(candidate, baseline, scored, units=[i // 4 for i in range(20)])
    assert together == (1.0, 1.0, 1.0)
    assert apart.high - apart.low > 0.3


def test_a_higher_confidence_is_a_wider_interval():
    sums = _windows(30, 0.95, 0)
    narrow, wide = (_ratio(*sums, confidence=level) for level in (0.8, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_many_windows_are_resampled_in_pieces():
    sums = _windows(5000, 0.95, 0)
    interval = _ratio(*sums, samples=1000)
    assert interval.high - interval.low < 0.01


@pytest.mark.parametrize("units", [None, ["a"]])
def test_figures_of_different_lengths_are_refused(units: list[str] | None):
    baseline = [1.0] if units is None else [1.0, 2.0]
    with pytest.raises(ValueError, match=r"shape|units"):
        PairedComparison.measure([1.0, 2.0], baseline, [1, 1], [1, 1], units=units)
