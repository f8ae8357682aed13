from __future__ import annotations

import math
import random

import numpy as np
import pytest

from monitoring.perplexity import Perplexity


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
