"""EngineHealth: how an engine does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineHealth:
    """A look at a running engine.

    Args:
        ready: whether new requests are taken.
        unfinished: requests waiting or running.
        seconds_without_progress: since the last step or job ended or work arrived; 0 while idle.
        error: what crashed it, if anything did.
    """

    ready: bool
    unfinished: int
    seconds_without_progress: float
    error: str | None
