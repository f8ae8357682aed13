from __future__ import annotations

import math
import random

import numpy as np
import pytest

from monitoring.perplexity import Perplexity, by_slice, paired_interval


def test_perplexity_and_bits_per_byte():
    total = Perplexity.total([3 * math.log(4), 5 * math.log(4)], [3, 5], [6, 10])
    assert total.perplexity == pytest.approx(4)
    assert total.bits_per_byte == pytest.approx(1.0)
    assert (total.scored, total.num_bytes) == (8, 16)


def test_sums_are_exact_in_any_order():
    values = [1e8, 1.0, 1e-8] * 1000
    shuffled = random.Random(0).sample(values, len(values))
    counts = [1] * len(values)
    assert Perplexity.total(values, counts) == Perplexity.total(shuffled, counts)
    assert Perplexity.total(values, counts).nll_sum == math.fsum(values)


def test_float32_sums_are_added_in_float64():
    total = Perplexity.total(np.full(3000, 16_777_217.0, np.float32), np.ones(3000, np.int32))
    assert total.nll_sum == 3000 * 16_777_216.0


def test_totals_add_up():
    assert Perplexity(1.0, 2, 3) + Perplexity(4.0, 5, 6) == Perplexity(5.0, 7, 9)


def test_nothing_scored_is_nan_and_an_absurd_loss_infinite():
    assert math.isnan(Perplexity().perplexity)
    assert math.isnan(Perplexity(1.0, 1).bits_per_byte)
    assert Perplexity(1e6, 1).perplexity == math.inf


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_is_never_dropped(bad: float):
    assert not math.isfinite(Perplexity.total([1.0, bad], [1, 1]).perplexity)
    assert all(math.isnan(value) for value in paired_interval([1.0, bad], [1.0, 1.0], [1, 1]))


def test_slices_keep_their_order_and_add_up_to_the_whole():
    slices = by_slice(["b", "a", "b"], [1.0, 2.0, 3.0], [1, 2, 3], [4, 5, 6])
    assert list(slices) == ["b", "a"]
    assert slices["b"] == Perplexity(4.0, 4, 10)
    assert slices["a"] + slices["b"] == Perplexity.total([1.0, 2.0, 3.0], [1, 2, 3], [4, 5, 6])


def _windows(count: int, gain: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Baseline losses that vary much between windows, and a candidate that gains a little on each."""
    draw = np.random.default_rng(seed)
    scored = draw.integers(50, 500, count)
    baseline = scored * draw.uniform(0.5, 4.0, count)
    candidate = baseline + scored * (math.log(gain) + draw.normal(0, 0.05, count))
    return candidate, baseline, scored


def test_pairing_sees_a_small_gain_under_large_differences_between_texts():
    candidate, baseline, scored = _windows(40, 0.95, 0)
    interval = paired_interval(candidate, baseline, scored)
    exact = math.exp((candidate.sum() - baseline.sum()) / scored.sum())
    assert interval.ratio == pytest.approx(exact)
    assert 0.9 < interval.low < interval.ratio < interval.high < 1


def test_the_interval_covers_the_truth_as_often_as_it_says():
    covered = sum(
        interval.low <= 0.95 <= interval.high
        for interval in (paired_interval(*_windows(40, 0.95, seed), samples=500) for seed in range(200))
    )
    assert 0.88 <= covered / 200 <= 0.99


def test_equal_models_have_the_ratio_one():
    _, baseline, scored = _windows(10, 1.0, 0)
    assert paired_interval(baseline, baseline, scored) == (1.0, 1.0, 1.0)


def test_the_same_seed_gives_the_same_interval():
    sums = _windows(12, 0.9, 0)
    assert paired_interval(*sums, seed=4) == paired_interval(*sums, seed=4)
    assert paired_interval(*sums, seed=4) != paired_interval(*sums, seed=5)


def test_windows_of_one_document_are_drawn_together():
    candidate = np.array([1.0, 1.0, 3.0, 3.0] * 5)
    baseline, scored = np.full(20, 2.0), np.ones(20, int)
    apart = paired_interval(candidate, baseline, scored)
    together = paired_interval(candidate, baseline, scored, units=[i // 4 for i in range(20)])
    assert together == (1.0, 1.0, 1.0)
    assert apart.high - apart.low > 0.3


def test_a_higher_confidence_is_a_wider_interval():
    sums = _windows(30, 0.95, 0)
    narrow, wide = (paired_interval(*sums, confidence=level) for level in (0.8, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_many_windows_are_resampled_in_pieces():
    sums = _windows(5000, 0.95, 0)
    interval = paired_interval(*sums, samples=1000)
    assert interval.high - interval.low < 0.01


@pytest.mark.parametrize("units", [None, ["a"]])
def test_arrays_of_different_lengths_are_an_error(units: list[str] | None):
    with pytest.raises(ValueError, match=r"shape|units"):
        paired_interval([1.0, 2.0], [1.0] if units is None else [1.0, 2.0], [1, 1], units=units)
