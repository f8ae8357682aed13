"""LineageTracer: finds a version or a run by its name and follows it back and forward."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from models.contract.errors import ConfigError
from pipeline.graph_execution import GraphExecution
from pipeline.lineage import Lineage
from pipeline.metadata_graph import MetadataGraph
from pipeline.pushed_versions import PushedVersions, newest, releases_of
from pipeline.run_record import RunRecord
from pipeline.version_origin import VersionOrigin


class LineageTracer:
    """Traces in what ML Metadata recorded; files are asked only for labels and whether they are there.

    Args:
        graph: the store's content.
        records: all runs, newest first.
    """

    def __init__(self, graph: MetadataGraph, records: Sequence[RunRecord]) -> None:
        self._graph = graph
        self._records = {record.run_id: record for record in records}
        self._versions = PushedVersions(graph, self._records)

    def trace(self, target: str | None = None) -> Lineage:
        """The lineage of a version or a run.

        Args:
            target: a version's number, `MODEL:VERSION`, a version's directory, a run's id or the beginning
                of it; by default the version pushed last, or the newest run if none was pushed.

        Raises:
            ConfigError: it names nothing, or several things.
        """
        if target is None:
            version = newest(self._versions.all())
            return self._of_run(self._run("")) if version is None else self._of_version(version)
        if not target:
            raise ConfigError(
                "what to trace is empty.",
                field="target",
                remedy="Name a version or a run, or leave it out: then it is the version pushed last.",
            )
        version = self._version(target)
        return self._of_version(version) if version is not None else self._of_run(self._run(target))

    def _version(self, target: str) -> VersionOrigin | None:
        model, _, number = str(Path(target)).replace("/", ":").rpartition(":")
        if not number.isdecimal():
            return None
        found = self._versions.find(int(number), model.rpartition(":")[2] or None)
        if len(found) > 1:
            raise ConfigError(
                f"version {target} is one of {', '.join(one.name for one in found)}.",
                field="target",
                remedy="Name the model as well, e.g. `tokenmill runs lineage MODEL:VERSION`.",
            )
        return found[0] if found else None

    def _run(self, target: str) -> RunRecord:
        found = [record for run_id, record in self._records.items() if run_id.startswith(target)]
        exact = [record for record in found if record.run_id == target]
        if len(found) != 1 and target and not exact:
            raise ConfigError(
                f"{target!r} names {len(found)} recorded runs and no version.",
                field="target",
                remedy="`tokenmill runs list` shows runs and versions.",
            )
        if not found:
            raise ConfigError(
                "no run is recorded yet.",
                field="target",
                remedy="Start one with `tokenmill run`.",
            )
        return (exact or found)[0]

    def _of_version(self, version: VersionOrigin) -> Lineage:
        push = self._versions.push_of(version)
        return self._lineage(version, self._records.get(version.run_id), [push] if push else [], push)

    def _of_run(self, record: RunRecord) -> Lineage:
        executions = self._graph.of_run(record.run_id)
        # A run that found its content pushed already names the version of an earlier run.
        pushed = record.pushed_version is not None and record.state == "pushed"
        versions = self._versions.find(record.pushed_version or 0) if pushed else []
        version = next((one for one in versions if one.path == record.pushed_path), None)
        pushers = [one for one in executions if one.component == "Pusher"]
        root = (pushers or executions or [None])[-1]
        return self._lineage(version, record, executions, root)

    def _lineage(
        self,
        version: VersionOrigin | None,
        record: RunRecord | None,
        executions: list[GraphExecution],
        root: GraphExecution | None,
    ) -> Lineage:
        steps = self._graph.ancestors(executions)
        start = version or (self._versions.baseline_of_run(record.run_id) if record else None)
        ids = {artifact_id for step in steps for artifact_id in (*step.read, *step.written)}
        own = [step for step in steps if record is not None and step.run_id == record.run_id]
        return Lineage(
            target=version,
            run=record,
            root=root,
            chain=tuple(self._versions.chain(start)) if start else (),
            steps=tuple(steps),
            artifacts={i: self._graph.artifacts[i] for i in ids},
            releases=releases_of(Path(version.path)) if version else (),
            judged_against=tuple(self._versions.judged_against(version)) if version else (),
            started_from=tuple(self._versions.started_from(version)) if version else (),
            reused_by=self._reused_by(own),
        )

    def _reused_by(self, steps: Sequence[GraphExecution]) -> dict[str, tuple[str, ...]]:
        found: dict[str, dict[str, None]] = {}
        for step in steps:
            for artifact_id in step.written:
                for taker in self._graph.takers(artifact_id):
                    if taker.run_id != step.run_id:
                        found.setdefault(taker.run_id, {})[step.component] = None
        return {run_id: tuple(names) for run_id, names in sorted(found.items())}
