"""Lineage: where a model version or a run came from, and what came of it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from models.contract.release_record import ReleaseRecord
from pipeline.graph_artifact import GraphArtifact
from pipeline.graph_execution import GraphExecution
from pipeline.run_record import RunRecord
from pipeline.version_origin import VersionOrigin


@dataclass(frozen=True, slots=True)
class Lineage:
    """The answer of `tokenmill runs lineage`.

    Args:
        target: the version asked for, or None if a run was asked for that pushed none.
        run: the run asked for or the one that made the version; None if none is known.
        root: the execution at the end of `steps`; None if there is none.
        chain: the version (for a run without one: its baseline), its baseline, and so on to the
            pretrained model.
        steps: executions that led to it, each after those it depends on. One that was answered from
            cache is represented by the execution that did the work, in an earlier run.
        artifacts: id → artifact, of all the steps.
        releases: what the push directory's release log says of the version.
        judged_against: runs whose candidate was compared with the version.
        started_from: runs whose training started from it.
        reused_by: run id → components that took their outputs from the steps of this run by cache.
    """

    target: VersionOrigin | None
    run: RunRecord | None
    root: GraphExecution | None
    chain: tuple[VersionOrigin, ...]
    steps: tuple[GraphExecution, ...]
    artifacts: dict[int, GraphArtifact]
    releases: tuple[ReleaseRecord, ...] = ()
    judged_against: tuple[RunRecord, ...] = ()
    started_from: tuple[RunRecord, ...] = ()
    reused_by: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    @property
    def title(self) -> str:
        """What it is the lineage of."""
        if self.target is not None:
            return f"version {self.target.name}"
        return f"run {self.run.run_id}" if self.run else "nothing"

    def maker(self, artifact_id: int) -> GraphExecution | None:
        """The step that wrote an artifact."""
        return next((one for one in self.steps if artifact_id in one.written), None)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "version": self.target.version if self.target else None,
            "model": self.target.model if self.target else None,
            "run_id": self.run.run_id if self.run else None,
            "state": self.run.state if self.run else None,
            "chain": [dataclasses.asdict(link) for link in self.chain],
            "steps": [dataclasses.asdict(step) for step in self.steps],
            "artifacts": [dataclasses.asdict(self.artifacts[i]) for i in sorted(self.artifacts)],
            "releases": [record.to_dict() for record in self.releases],
            "forward": {
                "judged_against": [_forward(record) for record in self.judged_against],
                "started_from": [_forward(record) for record in self.started_from],
                "reused_by": [
                    {"run_id": run_id, "components": list(names)} for run_id, names in self.reused_by.items()
                ],
            },
        }


def _forward(record: RunRecord) -> dict[str, Any]:
    return {"run_id": record.run_id, "state": record.state, "version": record.pushed_version}
