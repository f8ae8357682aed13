"""ComponentRun: one component's part in one run, as ML Metadata recorded it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ComponentRun:
    """One execution.

    Args:
        id: the component's id, e.g. "Trainer".
        state: "complete", "cached", "failed", "running", "canceled", "new" or "interrupted" (its process was
            killed; ML Metadata still says that it runs).
        started: Unix seconds.
        seconds: how long it took, or has taken so far when last recorded.
        outputs: output name → path of the artifact.
        properties: output name → the artifact's custom properties.
    """

    id: str
    state: str
    started: float
    seconds: float
    outputs: dict[str, str] = field(default_factory=dict)
    properties: dict[str, dict[str, Any]] = field(default_factory=dict)
