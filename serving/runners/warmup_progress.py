"""WarmupProgress: how far the compilation of a package's buckets is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WarmupProgress:
    """Counts of XLA buckets.

    Args:
        warm: compiled.
        total: to be compiled; 0 without XLA.
        error: why the rest is not compiled, None if nothing failed.
    """

    warm: int = 0
    total: int = 0
    error: str | None = None
