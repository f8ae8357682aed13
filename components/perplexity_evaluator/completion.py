"""Completion: what a model made of a prompt, greedily."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Completion:
    """Greedy ids.

    Args:
        ids: the end id left out.
        ended: whether an end id ended it; otherwise it was cut at the most tokens asked for.
    """

    ids: tuple[int, ...]
    ended: bool

    @classmethod
    def cut(cls, ids: list[int], end_ids: tuple[int, ...]) -> Completion:
        """A completion of ids that may hold an end id, after which nothing counts."""
        for place, value in enumerate(ids):
            if value in end_ids:
                return cls(tuple(ids[:place]), True)
        return cls(tuple(ids), False)
