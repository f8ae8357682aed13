"""Life of a sequence inside the engine."""

from __future__ import annotations

from enum import Enum


class SequenceStatus(Enum):
    """WAITING → RUNNING → FINISHED; a preempted sequence goes back to WAITING."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
