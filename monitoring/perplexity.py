"""Perplexity and bits per byte from sums of negative log-likelihoods. Pure.

Sums are in nats and in float64, whatever they come in. A NaN or infinite loss is never dropped: it
makes every aggregate it belongs to NaN or infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt


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


def _exact_sum(values: npt.ArrayLike) -> float:
    """The sum, rounded once, so that no order of the windows can change it."""
    numbers = np.asarray(values, np.float64).ravel()
    return math.fsum(numbers) if np.isfinite(numbers).all() else float(numbers.sum())


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
