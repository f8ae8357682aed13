"""Checks of generated text that need no model: repetition, variety, length, emptiness. Pure.

Sources: distinct-n after Li et al., "A Diversity-Promoting Objective Function for Neural
Conversation Models" (2016); the share of repeated n-grams after Welleck et al., "Neural Text
Generation with Unlikelihood Training" (2020), seq-rep-n.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Self

REPEATED_N = 4
DISTINCT_N = 2


@dataclass(frozen=True, slots=True)
class TextFigures:
    """Figures of a model's completions; None where no completion is long enough to tell.

    Args:
        completions: how many there are.
        repeated: mean share of 4-grams that came before in the same completion, 0 … 1.
        distinct: different 2-grams of all completions over all their 2-grams, 0 … 1.
        mean_length: tokens per completion.
        empty: share of completions without a token that is more than white space, 0 … 1.
    """

    completions: int
    repeated: float | None
    distinct: float | None
    mean_length: float
    empty: float

    @classmethod
    def measure(cls, ids: Sequence[Sequence[int]], texts: Sequence[str]) -> Self:
        """Measure completions.

        Args:
            ids: of each completion, its end id left out.
            texts: the same as text.
        """
        shares = [share for row in ids if (share := repeated_share(row)) is not None]
        return cls(
            completions=len(ids),
            repeated=sum(shares) / len(shares) if shares else None,
            distinct=distinct_share(ids),
            mean_length=sum(map(len, ids)) / len(ids) if ids else 0.0,
            empty=sum(not text.strip() for text in texts) / len(texts) if texts else 0.0,
        )


def repeated_share(ids: Sequence[Hashable], n: int = REPEATED_N) -> float | None:
    """Share of the n-grams that are repetitions of an earlier one; None if there is no n-gram."""
    grams = _ngrams(ids, n)
    return 1 - len(set(grams)) / len(grams) if grams else None


def distinct_share(rows: Sequence[Sequence[Hashable]], n: int = DISTINCT_N) -> float | None:
    """Different n-grams over all n-grams of all rows; None if there is no n-gram."""
    counts = Counter(gram for row in rows for gram in _ngrams(row, n))
    return len(counts) / counts.total() if counts else None


def _ngrams(ids: Sequence[Hashable], n: int) -> list[tuple[Hashable, ...]]:
    return [tuple(ids[start : start + n]) for start in range(len(ids) - n + 1)]
