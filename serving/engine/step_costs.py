"""StepCosts: what a verifying call costs, measured in plain steps."""

from __future__ import annotations

from collections import defaultdict, deque
from statistics import median

_KEPT = 9
_GUESSED_COST = 1.3
_GUESSED_COST_PER_ID = 0.04


class StepCosts:
    """Medians of the latest calls' times, by number of rows and about the length of drafts.

    Medians, since single calls are off by far: the first of a shape, or one that met other work.
    """

    def __init__(self) -> None:
        self._plain: defaultdict[int, deque[float]] = defaultdict(_latest)
        self._verify: defaultdict[tuple[int, int], deque[float]] = defaultdict(_latest)

    def decoded(self, rows: int, steps: int, seconds: float) -> None:
        """A plain call of so many rows and steps took so long."""
        self._plain[rows].append(seconds / steps)

    def verified(self, rows: int, drafted: int, seconds: float) -> None:
        """A verifying call whose longest draft had so many ids took so long."""
        self._verify[rows, drafted.bit_length()].append(seconds)

    def ratio(self, rows: int, drafted: int) -> float:
        """Plain steps of so many rows that take as long as a verifying call; a guess at first."""
        plain, verify = self._plain[rows], self._verify[rows, drafted.bit_length()]
        if not plain or not verify or median(plain) <= 0:
            return _GUESSED_COST + _GUESSED_COST_PER_ID * drafted
        return max(1.0, median(verify) / median(plain))


def _latest() -> deque[float]:
    return deque(maxlen=_KEPT)
