"""StreamComparison: how far a cached stream was compared with the uncached forward, and what differed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StreamComparison:
    """One prompt's comparison.

    Args:
        compared: tokens found equal, before a tie, a difference or the stream's end.
        fault: the difference in words, None if there is none.
    """

    compared: int
    fault: str | None = None
