"""GraphExecution: an execution of a component as ML Metadata recorded it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class GraphExecution:
    """One execution.

    Args:
        id: in ML Metadata.
        component: id of the component, e.g. "Trainer".
        run_id: the run it belongs to, "" if none is recorded.
        pipeline: name of the pipeline.
        state: "complete", "cached", "failed", "running", "canceled", "new" or "unknown".
        started: Unix seconds.
        seconds: how long it took, or has taken so far when last recorded.
        parameters: what the component was called with, as plain values.
        inputs: input name → ids of artifacts.
        outputs: output name → ids of artifacts.
    """

    id: int
    component: str
    run_id: str
    pipeline: str = ""
    state: str = "complete"
    started: float = 0.0
    seconds: float = 0.0
    parameters: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, tuple[int, ...]] = field(default_factory=dict)
    outputs: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def read(self) -> tuple[int, ...]:
        """Ids of all artifacts that went in."""
        return tuple(artifact_id for ids in self.inputs.values() for artifact_id in ids)

    @property
    def written(self) -> tuple[int, ...]:
        """Ids of all artifacts that came out."""
        return tuple(artifact_id for ids in self.outputs.values() for artifact_id in ids)
