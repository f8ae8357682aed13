"""PushedVersions: the model versions that ML Metadata knows, and which was whose baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from models.contract.errors import PackageError
from models.contract.labels import Labels
from models.contract.manifest import Manifest
from models.contract.release_log import ReleaseLog
from models.contract.release_record import ReleaseRecord
from pipeline.graph_artifact import GraphArtifact
from pipeline.graph_execution import GraphExecution
from pipeline.metadata_graph import MetadataGraph
from pipeline.run_record import RunRecord
from pipeline.version_origin import VersionOrigin


class PushedVersions:
    """Answers what a version was measured against, and what was measured against it.

    Versions are matched by content hash, not by path: a push directory may have been moved.

    Args:
        graph: what ML Metadata recorded.
        records: run id → record.
    """

    def __init__(self, graph: MetadataGraph, records: Mapping[str, RunRecord]) -> None:
        self._graph = graph
        self._records = records
        self._pushes: dict[str, tuple[GraphExecution, GraphArtifact]] = {}
        for execution, artifact in graph.outputs("Pusher", "pushed_model"):
            if artifact.properties.get("pushed") == 1:
                # A later run that found its content pushed already names the same directory.
                self._pushes.setdefault(artifact.properties["pushed_destination"], (execution, artifact))

    def all(self) -> list[VersionOrigin]:
        """All recorded versions, oldest first."""
        return [self._origin(execution, artifact) for execution, artifact in self._pushes.values()]

    def push_of(self, origin: VersionOrigin) -> GraphExecution | None:
        """The execution that pushed a version, None if none is recorded."""
        found = self._pushes.get(origin.path)
        return found[0] if found else None

    def find(self, version: int, model: str | None = None) -> list[VersionOrigin]:
        """Versions of a number; if none is recorded, those that were pushed by hand and lie there."""
        recorded = [one for one in self.all() if one.version == version and model in (None, one.model)]
        if recorded:
            return recorded
        bases = {Path(path).parent for path in self._pushes}
        found = [_unrecorded(base / str(version)) for base in sorted(bases) if model in (None, base.name)]
        return [one for one in found if one is not None]

    def chain(self, origin: VersionOrigin) -> list[VersionOrigin]:
        """The version, its baseline, the baseline's baseline …, to the pretrained model if it is recorded."""
        links = [origin]
        while (before := self._baseline_of(links[-1])) is not None and before not in links:
            links.append(before)
        return links

    def judged_against(self, origin: VersionOrigin) -> list[RunRecord]:
        """Runs whose candidate was compared with the version, oldest first."""
        return self._runs_with("BaselineLookup", "baseline", origin)

    def started_from(self, origin: VersionOrigin) -> list[RunRecord]:
        """Runs whose training started from the version, oldest first."""
        return self._runs_with("WarmStart", "start", origin)

    def _runs_with(self, component: str, key: str, origin: VersionOrigin) -> list[RunRecord]:
        """Runs in which a component's output points to a version."""
        found = (f"{key}_fingerprint", origin.content_hash), (f"{key}_path", origin.path)
        runs = {
            execution.run_id: None
            for execution, artifact in self._graph.outputs(component, key)
            if any(value and artifact.properties.get(name) == value for name, value in found)
        }
        return [self._records[run_id] for run_id in runs if run_id in self._records]

    def baseline_of_run(self, run_id: str) -> VersionOrigin | None:
        """What a run's candidate was compared with; None if it did not come so far."""
        properties = self._properties(run_id, "BaselineLookup", "baseline")
        if "baseline_kind" not in properties:
            return None
        path, content = properties["baseline_path"], properties.get("baseline_fingerprint", "")
        kind = properties["baseline_kind"]
        if kind != "package":
            present = Path(path).is_dir()
            return VersionOrigin(None, "", path, content, present=present, untrained=kind == "untrained")
        if path in self._pushes:
            return self._origin(*self._pushes[path])
        same = [one for one in self.all() if content and one.content_hash == content]
        if same:
            return same[-1]
        where = Path(path)
        version = int(where.name) if where.name.isdecimal() else None
        return _unrecorded(where) or VersionOrigin(
            version, where.parent.name, path, content, present=False, recorded=False
        )

    def _baseline_of(self, origin: VersionOrigin) -> VersionOrigin | None:
        if origin.version is None or not origin.run_id:
            return None
        return self.baseline_of_run(origin.run_id)

    def _properties(self, run_id: str, component: str, key: str) -> dict[str, object]:
        for execution in self._graph.of_run(run_id):
            if execution.component == component:
                for artifact_id in execution.outputs.get(key, ()):
                    return self._graph.artifacts[artifact_id].properties
        return {}

    def _origin(self, execution: GraphExecution, artifact: GraphArtifact) -> VersionOrigin:
        path = Path(artifact.properties["pushed_destination"])
        version = int(artifact.properties["pushed_version"])
        run_id = self._maker(execution, artifact)
        record = self._records.get(run_id)
        start = self._properties(run_id, "WarmStart", "start")
        return VersionOrigin(
            version=version,
            model=path.parent.name,
            path=str(path),
            content_hash=str(artifact.properties.get("content_hash", "")),
            run_id=run_id,
            pushed=execution.started + execution.seconds,
            perplexity=record.perplexity if record else None,
            baseline_perplexity=record.baseline_perplexity if record else None,
            ratio=record.ratio if record else None,
            interval=record.interval if record else None,
            labels=labels_of(path.parent, version),
            present=path.is_dir(),
            started_from=int(str(start["start_version"])) if start.get("start_kind") == "package" else None,
        )

    def _maker(self, execution: GraphExecution, artifact: GraphArtifact) -> str:
        """The run that pushed a version; it may have been killed before that was recorded.

        The next run then finds its content pushed already, and compares it with itself.
        """
        if artifact.properties.get("new", 1):
            return execution.run_id
        package = _unrecorded(Path(artifact.properties["pushed_destination"]))
        return package.run_id if package and package.run_id in self._records else execution.run_id


def labels_of(base: Path, version: int) -> tuple[str, ...]:
    """Labels that stand on a version now; none if the label file cannot be read."""
    try:
        labels = Labels.load(base)
    except PackageError:
        return ()
    targets = labels.targets if labels else {}
    return tuple(label for label, target in targets.items() if target == version)


def releases_of(path: Path) -> tuple[ReleaseRecord, ...]:
    """Changes of the push directory that concern a version, oldest first; none if they cannot be read."""
    try:
        records = ReleaseLog.load(path.parent).records
    except PackageError:
        return ()
    return tuple(one for one in records if path.name in (str(one.from_version), str(one.to_version)))


def _unrecorded(path: Path) -> VersionOrigin | None:
    """A version that lies in a push directory and was not pushed by a recorded run."""
    try:
        manifest = Manifest.load(path)
    except PackageError:
        return None
    return VersionOrigin(
        version=int(path.name),
        model=path.parent.name,
        path=str(path),
        content_hash=manifest.content_hash,
        run_id=manifest.run_id,
        perplexity=_figure(manifest, "perplexity"),
        baseline_perplexity=_figure(manifest, "baseline_perplexity"),
        ratio=_figure(manifest, "ratio"),
        labels=labels_of(path.parent, int(path.name)),
        recorded=False,
    )


def _figure(manifest: Manifest, name: str) -> float | None:
    value = (manifest.evaluation or {}).get(name)
    return float(value) if isinstance(value, int | float) else None


def newest(versions: Sequence[VersionOrigin]) -> VersionOrigin | None:
    """The version pushed last."""
    return max(versions, key=lambda one: (one.pushed, one.version or 0), default=None)
