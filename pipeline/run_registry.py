"""RunRegistry: the runs recorded in ML Metadata."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ml_metadata import errors, metadata_store
from ml_metadata.proto import metadata_store_pb2

from components.blessing import MESSAGE_PROPERTY, REASONS_FILE
from components.metadata.metadata_connection import MetadataConnection
from components.metadata.metadata_store import open_existing
from components.perplexity_evaluator.result_files import RESULTS_FILE
from models.contract.errors import ConfigError
from pipeline.component_run import ComponentRun
from pipeline.metadata_database import check_database, connection_of, unreadable_database
from pipeline.run_journal import INTERRUPTED, JOURNAL_FILE, RunJournal
from pipeline.run_record import RunRecord

_STATES = {
    metadata_store_pb2.Execution.NEW: "new",
    metadata_store_pb2.Execution.RUNNING: "running",
    metadata_store_pb2.Execution.COMPLETE: "complete",
    metadata_store_pb2.Execution.FAILED: "failed",
    metadata_store_pb2.Execution.CACHED: "cached",
    metadata_store_pb2.Execution.CANCELED: "canceled",
}
_PLAIN = ("int_value", "double_value", "string_value", "bool_value")


class RunRegistry:
    """Reads runs; never writes.

    Args:
        metadata: the store of ML Metadata.
        runs_directory: folder of the runs' journals.
    """

    def __init__(self, metadata: MetadataConnection, runs_directory: Path) -> None:
        self._metadata = metadata
        self._runs = runs_directory

    @classmethod
    def of_workdir(cls, workdir: Path) -> RunRegistry:
        """The registry of a working directory."""
        return cls(connection_of(workdir), (workdir / "runs").resolve())

    def list(self) -> Sequence[RunRecord]:
        """All runs, newest first, those included that ended before their first component.

        A run whose journal is broken is listed as "unreadable" unless ML Metadata knows it.

        Raises:
            ConfigError: the database cannot be read.
        """
        records = self._recorded()
        known = {record.run_id for record in records}
        for folder in self._runs.glob("*/") if self._runs.is_dir() else ():
            if folder.name in known:
                continue
            if RunJournal.is_broken(folder):
                records.append(_unreadable(folder))
            elif RunJournal.read(folder):
                records.append(self._without_components(folder.name))
        return sorted(records, key=lambda record: record.started, reverse=True)

    def _recorded(self) -> list[RunRecord]:
        check_database(self._metadata)
        try:
            store = open_existing(self._metadata)
            if store is None:
                return []
            contexts = store.get_contexts_by_type("pipeline_run")
            return [self._record(context, _components(store, context.id)) for context in contexts]
        except (errors.StatusError, RuntimeError) as error:
            raise unreadable_database(self._metadata, _reason(error)) from error

    def show(self, run_id: str | None = None) -> RunRecord:
        """One run by its id or an unambiguous beginning of it; the newest without an id.

        Raises:
            ConfigError: there is no such run, several begin so, or the database cannot be read.
        """
        records = self.list()
        if not records:
            raise ConfigError(
                f"no run is recorded in {self._metadata}.",
                field="run",
                remedy="Start one with `tokenmill run --config configs/demo.yaml`.",
            )
        found = [record for record in records if record.run_id.startswith(run_id or "")]
        if run_id is None or any(record.run_id == run_id for record in found):
            return next(record for record in found if run_id in (None, record.run_id))
        if len(found) != 1:
            raise ConfigError(
                f"run {run_id!r} names {len(found)} recorded runs.",
                field="run",
                remedy="`tokenmill runs list` shows their ids.",
            )
        return found[0]

    def _record(self, context: Any, components: list[ComponentRun]) -> RunRecord:
        journal = RunJournal.read(self._runs / context.name)
        started = journal.get("started") or context.create_time_since_epoch / 1000
        ended = max((c.started + c.seconds for c in components), default=started)
        return RunRecord(
            run_id=context.name,
            pipeline=journal.get("pipeline", ""),
            state=_state(components, journal),
            started=started,
            seconds=_seconds(journal, ended - started),
            error=journal.get("error"),
            peak_memory_bytes=journal.get("peak_memory_bytes", 0),
            components=tuple(components),
            **_evaluation(components),
            **_verdicts(components),
            **_push(components),
        )

    def _without_components(self, run_id: str) -> RunRecord:
        journal = RunJournal.read(self._runs / run_id)
        return RunRecord(
            run_id=run_id,
            pipeline=journal["pipeline"],
            state=_state([], journal),
            started=journal["started"],
            seconds=_seconds(journal, 0.0),
            error=journal.get("error"),
            peak_memory_bytes=journal.get("peak_memory_bytes", 0),
        )


def _reason(error: Exception) -> str:
    if "readonly" in str(error):
        # Opened for reading only, ML Metadata still tries to make the tables it misses.
        return "ML Metadata's tables are missing"
    if "Concurrent writes" in str(error):
        return "it stays locked"
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _unreadable(folder: Path) -> RunRecord:
    journal = folder / JOURNAL_FILE
    return RunRecord(
        run_id=folder.name,
        pipeline="",
        state="unreadable",
        started=journal.stat().st_mtime,
        seconds=0.0,
        error=f"{journal} is not a run's journal: restore it, or remove the folder.",
    )


def _components(store: metadata_store.MetadataStore, context_id: int) -> list[ComponentRun]:
    executions = store.get_executions_by_context(context_id)
    return [_component(store, e) for e in sorted(executions, key=lambda execution: execution.id)]


def _component(store: metadata_store.MetadataStore, execution: Any) -> ComponentRun:
    names = [c.name for c in store.get_contexts_by_execution(execution.id) if c.type == "node"]
    events = [
        event
        for event in store.get_events_by_execution_ids([execution.id])
        if event.type == metadata_store_pb2.Event.OUTPUT
    ]
    artifacts = {a.id: a for a in store.get_artifacts_by_id([event.artifact_id for event in events])}
    outputs = {event.path.steps[0].key: artifacts[event.artifact_id] for event in events}
    started = execution.create_time_since_epoch / 1000
    return ComponentRun(
        id=names[0].rpartition(".")[2] if names else execution.type,
        state=_STATES.get(execution.last_known_state, "unknown"),
        started=started,
        seconds=execution.last_update_time_since_epoch / 1000 - started,
        outputs={key: artifact.uri for key, artifact in outputs.items()},
        properties={key: _properties(artifact) for key, artifact in outputs.items()},
    )


def _properties(artifact: Any) -> dict[str, Any]:
    values = artifact.custom_properties.items()
    kinds = {key: (value, value.WhichOneof("value")) for key, value in values}
    return {key: getattr(value, kind) for key, (value, kind) in kinds.items() if kind in _PLAIN}


def _output(components: list[ComponentRun], component: str, key: str) -> tuple[Path | None, dict[str, Any]]:
    for run in components:
        if run.id == component and key in run.outputs:
            return Path(run.outputs[key]), run.properties[key]
    return None, {}


def _evaluation(components: list[ComponentRun]) -> dict[str, Any]:
    folder, _ = _output(components, "PerplexityEvaluator", "evaluation")
    results = _read_json(folder / RESULTS_FILE) if folder else {}
    try:
        interval = results["interval"]
        return {
            **{key: _number(results[key]) for key in ("perplexity", "baseline_perplexity", "ratio")},
            "interval": (float(interval[0]), float(interval[1])) if interval else None,
            "confidence": float(results["confidence"]),
            "scored": int(results["scored"]),
            "baseline": str(results["baseline"]),
        }
    except (KeyError, TypeError, ValueError, IndexError):
        return {}


def _verdicts(components: list[ComponentRun]) -> dict[str, Any]:
    verdicts: dict[str, Any] = {}
    reasons: list[str] = []
    validators = (
        ("blessed", "PerplexityEvaluator", "model_blessing"),
        ("servable", "ServingValidator", "infra_blessing"),
    )
    for name, component, key in validators:
        folder, properties = _output(components, component, key)
        if folder is not None and "blessed" in properties:
            verdicts[name] = properties["blessed"] == 1
            stored = _read_json(folder / REASONS_FILE)
            told = stored.get("reasons")
            reasons += map(str, told if isinstance(told, list) else [properties.get(MESSAGE_PROPERTY, "")])
    return {**verdicts, "reasons": tuple(reasons)}


def _push(components: list[ComponentRun]) -> dict[str, Any]:
    _, properties = _output(components, "Pusher", "pushed_model")
    if properties.get("pushed") != 1:
        return {}
    return {
        "pushed_version": int(properties["pushed_version"]),
        "pushed_path": properties["pushed_destination"],
    }


def _state(components: list[ComponentRun], journal: dict[str, Any]) -> str:
    if journal.get("error") == INTERRUPTED:
        return INTERRUPTED
    if journal.get("error") or any(component.state == "failed" for component in components):
        return "failed"
    _, properties = _output(components, "Pusher", "pushed_model")
    if "pushed" in properties:
        if properties["pushed"] != 1:
            return "not blessed"
        return "pushed" if properties.get("new", 1) else "unchanged"
    return "running" if RunJournal.is_alive(journal) and not journal.get("finished") else INTERRUPTED


def _seconds(journal: dict[str, Any], recorded: float) -> float:
    if RunJournal.is_alive(journal) and not journal.get("finished"):
        return time.time() - float(journal["started"])
    return float(journal.get("seconds", recorded))


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}
