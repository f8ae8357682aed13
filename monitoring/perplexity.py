"""Perplexity from sums of negative log-likelihoods: aggregates, slices, paired intervals. Pure.

Sums are in nats and in float64, whatever they come in. A NaN or infinite loss is never dropped: it
makes every aggregate it belongs to NaN or infinite.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from monitoring.resampling import resampled_sums, sums_by_unit


@dataclass(frozen=True, slots=True)
class Perplexity:
    """What a model scored on a stretch of text.

    Args:
        nll_sum: negative log-likelihood of the scored tokens, in nats.
        scored: how many tokens were scored.
        num_bytes: bytes of text they stand for; 0 if not counted.
    """

    nll_sum: float = 0.0
    scored: int = 0
    num_bytes: int = 0

    @classmethod
    def total(
        cls, nll_sums: npt.ArrayLike, scored: npt.ArrayLike, num_bytes: npt.ArrayLike | None = None
    ) -> Self:
        """Add up windows or documents.

        Args:
            nll_sums: [W], nats.
            scored: [W], tokens.
            num_bytes: [W], bytes, if counted.
        """
        count = 0 if num_bytes is None else int(np.sum(num_bytes, dtype=np.int64))
        return cls(_exact_sum(nll_sums), int(np.sum(scored, dtype=np.int64)), count)

    def __add__(self, other: Perplexity) -> Perplexity:
        return Perplexity(
            self.nll_sum + other.nll_sum, self.scored + other.scored, self.num_bytes + other.num_bytes
        )

    @property
    def perplexity(self) -> float:
        """exp(nll_sum / scored); NaN if nothing was scored."""
        return _exp(self.nll_sum / self.scored) if self.scored else math.nan

    @property
    def bits_per_byte(self) -> float:
        """Bits needed per byte of text; comparable between vocabularies. NaN without bytes."""
        return self.nll_sum / math.log(2) / self.num_bytes if self.num_bytes else math.nan


class Interval(NamedTuple):
    """A bootstrap interval of a ratio of perplexities.

    Args:
        ratio: candidate's perplexity over baseline's.
        low: lower end.
        high: upper end.
    """

    ratio: float
    low: float
    high: float


def paired_interval(
    candidate: npt.ArrayLike,
    baseline: npt.ArrayLike,
    scored: npt.ArrayLike,
    *,
    units: Sequence[Hashable] | None = None,
    samples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Percentile interval of perplexity(candidate) / perplexity(baseline) on the same windows.

    Units are drawn with replacement, both models' scores of a unit together, so what makes a text
    hard for both cancels out. Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993).

    Args:
        candidate: [W] sums of negative log-likelihoods, in nats.
        baseline: [W] the same of the other model.
        scored: [W] tokens, the same for both.
        units: [W] what is drawn together, e.g. a document's name, since the windows of one document
            are alike; None draws single windows.
        samples: how many resamples.
        confidence: level, e.g. 0.95.
        seed: of the drawing.

    Returns:
        The ratio and its interval; all NaN if a loss is not finite or nothing was scored.

    Raises:
        ValueError: the arrays differ in length.
    """
    # Stacking raises if the lengths differ.
    sums = np.stack([np.asarray(values, np.float64) for values in (candidate, baseline, scored)])
    if not np.isfinite(sums).all() or sums[2].sum() <= 0:
        return Interval(math.nan, math.nan, math.nan)
    if units is not None:
        sums = sums_by_unit(sums, units)
    ratios = _resampled_ratios(sums, samples, seed)
    low, high = np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(_ratios(sums.sum(axis=1, keepdims=True))[0]), float(low), float(high))


def by_slice(
    keys: Sequence[str],
    nll_sums: npt.ArrayLike,
    scored: npt.ArrayLike,
    num_bytes: npt.ArrayLike | None = None,
) -> dict[str, Perplexity]:
    """Perplexity of each slice, in the order of first appearance.

    Args:
        keys: [W] name of the slice each window belongs to.
        nll_sums: [W], nats.
        scored: [W], tokens.
        num_bytes: [W], bytes, if counted.
    """
    names = np.asarray(keys, dtype=object)
    values = np.asarray(nll_sums, np.float64), np.asarray(scored, np.int64)
    counted = None if num_bytes is None else np.asarray(num_bytes, np.int64)
    slices = {}
    for key in dict.fromkeys(keys):
        rows = names == key
        slices[key] = Perplexity.total(
            values[0][rows], values[1][rows], None if counted is None else counted[rows]
        )
    return slices


def _exact_sum(values: npt.ArrayLike) -> float:
    """The sum, rounded once, so that no order of the windows can change it."""
    numbers = np.asarray(values, np.float64).ravel()
    return math.fsum(numbers) if np.isfinite(numbers).all() else float(numbers.sum())


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _resampled_ratios(sums: npt.NDArray[np.float64], samples: int, seed: int) -> npt.NDArray[np.float64]:
    # A resample without a single scored token has no perplexity; such units carry no information.
    return _ratios(resampled_sums(sums[:, sums[2] > 0], samples, seed))


def _ratios(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    candidate, baseline, scored = sums
    with np.errstate(over="ignore"):
        return np.exp((candidate - baseline) / scored)
