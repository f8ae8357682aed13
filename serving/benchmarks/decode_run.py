"""DecodeRun and Contender: what is measured, and what measures itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Contender:
    """An engine that takes part.

    Args:
        name: in tables; unique in a benchmark.
        engine: module below `serving.benchmarks.engines`.
        job: what its `load` takes.
        python: interpreter that runs it.
        weights_bytes: that a decode step reads; 0 if unknown.
    """

    name: str
    engine: str
    job: dict[str, Any]
    python: Path
    weights_bytes: int = 0


@dataclass(frozen=True, slots=True)
class DecodeRun:
    """One turn of one engine: prompts in, `tokens` ids out.

    Args:
        batch: rows.
        round: number of the round, from 0.
        engine: the contender's name.
        first_seconds: to the first id of every row.
        step_seconds: per id behind the first.
        bandwidth: bytes per second that the memory gave just before.
        ids: [batch][tokens].
    """

    batch: int
    round: int
    engine: str
    first_seconds: float
    step_seconds: float
    bandwidth: float
    ids: list[list[int]]
