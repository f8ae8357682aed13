"""PairedComparison: two models' perplexity and bits per byte on the same text, with intervals. Pure.

Source of the bootstrap: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from monitoring.perplexity import Perplexity
from monitoring.resampling import resampled_sums, sums_by_unit


class Estimate(NamedTuple):
    """A figure with its bootstrap interval.

    Args:
        value: the figure on the text as it is.
        low: lower end of the interval; NaN without one.
        high: upper end.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """What candidate and baseline scored on the same windows.

    Units are drawn with replacement, both models' scores of a unit together, so what makes a text
    hard for both cancels out of ratio and change. Figures of which a loss is NaN or infinite are NaN
    or infinite and have no interval; nor has anything where there is a single unit only.

    Args:
        candidate: totals of the candidate.
        baseline: totals of the baseline.
        units: how many things were drawn from, e.g. documents.
        perplexity: the candidate's.
        baseline_perplexity: the baseline's.
        ratio: perplexity over baseline's.
        bits_per_byte: the candidate's.
        baseline_bits_per_byte: the baseline's.
        bits_per_byte_change: bits per byte minus the baseline's.
    """

    candidate: Perplexity
    baseline: Perplexity
    units: int
    perplexity: Estimate
    baseline_perplexity: Estimate
    ratio: Estimate
    bits_per_byte: Estimate
    baseline_bits_per_byte: Estimate
    bits_per_byte_change: Estimate

    @classmethod
    def measure(
        cls,
        candidate: npt.ArrayLike,
        baseline: npt.ArrayLike,
        scored: npt.ArrayLike,
        num_bytes: npt.ArrayLike,
        *,
        units: Sequence[Hashable] | None = None,
        samples: int = 2000,
        confidence: float = 0.95,
        seed: int = 0,
    ) -> Self:
        """Compare two models.

        Args:
            candidate: [W] sums of negative log-likelihoods, in nats.
            baseline: [W] the same of the other model.
            scored: [W] tokens, the same for both.
            num_bytes: [W] bytes of text these tokens stand for.
            units: [W] what is drawn together, e.g. a document's key; None draws single windows.
            samples: how many resamples.
            confidence: level of the intervals, e.g. 0.95.
            seed: of the drawing.

        Raises:
            ValueError: the arrays differ in length.
        """
        sums = np.stack(
            [np.asarray(values, np.float64).ravel() for values in (candidate, baseline, scored, num_bytes)]
        )
        if units is not None:
            sums = sums_by_unit(sums, units)
        sums = sums[:, sums[2] > 0]
        ours = Perplexity.total(candidate, scored, num_bytes)
        theirs = Perplexity.total(baseline, scored, num_bytes)
        ends = _ends(sums, samples, confidence, seed)
        values = (
            ours.perplexity,
            theirs.perplexity,
            Perplexity(ours.nll_sum - theirs.nll_sum, ours.scored).perplexity,
            ours.bits_per_byte,
            theirs.bits_per_byte,
            ours.bits_per_byte - theirs.bits_per_byte,
        )
        estimates = [_estimate(value, low, high) for value, (low, high) in zip(values, ends, strict=True)]
        return cls(ours, theirs, sums.shape[1], *estimates)


def _figures(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """[4, S] sums → [6, S]: the estimates' values, in the order of the fields."""
    candidate, baseline, scored, num_bytes = sums
    with np.errstate(all="ignore"):
        bits = math.log(2) * num_bytes
        return np.stack(
            [
                np.exp(candidate / scored),
                np.exp(baseline / scored),
                np.exp((candidate - baseline) / scored),
                candidate / bits,
                baseline / bits,
                (candidate - baseline) / bits,
            ]
        )


def _ends(
    sums: npt.NDArray[np.float64], samples: int, confidence: float, seed: int
) -> list[tuple[float, float]]:
    if sums.shape[1] < 2:
        return [(math.nan, math.nan)] * 6
    with np.errstate(all="ignore"):
        figures = _figures(resampled_sums(sums, samples, seed))
        low, high = np.quantile(figures, [(1 - confidence) / 2, (1 + confidence) / 2], axis=1)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _estimate(value: float, low: float, high: float) -> Estimate:
    if not all(map(math.isfinite, (value, low, high))):
        return Estimate(value, math.nan, math.nan)
    return Estimate(value, low, high)
