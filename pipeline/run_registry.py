"""RunRegistry: the runs recorded in ML Metadata."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from ml_metadata import errors

from components.metadata.metadata_connection import MetadataConnection
from components.metadata.metadata_store import open_existing
from models.contract.errors import ConfigError
from pipeline import run_findings as findings
from pipeline.component_run import ComponentRun
from pipeline.graph_execution import GraphExecution
from pipeline.metadata_database import check_database, connection_of, unreadable_database
from pipeline.metadata_graph import MetadataGraph
from pipeline.moved_path import moved_path
from pipeline.run_journal import CONFIG_FILE, INTERRUPTED, JOURNAL_FILE, RunJournal
from pipeline.run_record import RunRecord


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

    @property
    def metadata(self) -> MetadataConnection:
        """Where the history is."""
        return self._metadata

    def config_of(self, run_id: str) -> dict[str, Any]:
        """The configuration of a run, every default written out; empty if it was not run here."""
        try:
            raw = yaml.safe_load((self._runs / run_id / CONFIG_FILE).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            return {}
        return raw if isinstance(raw, dict) else {}

    def list(self, graph: MetadataGraph | None = None) -> Sequence[RunRecord]:
        """All runs, newest first, those included that ended before their first component.

        A run whose journal is broken is listed as "unreadable" unless ML Metadata knows it.

        Args:
            graph: what ML Metadata has recorded, if it has been read already.

        Raises:
            ConfigError: the database cannot be read.
        """
        graph = graph or self.graph()
        records = [self._record(graph, run_id) for run_id in graph.runs]
        known = {record.run_id for record in records}
        for folder in self._runs.glob("*/") if self._runs.is_dir() else ():
            if folder.name in known:
                continue
            if RunJournal.is_broken(folder):
                records.append(_unreadable(folder))
            elif RunJournal.read(folder):
                records.append(self._without_components(folder.name))
        return sorted(records, key=lambda record: record.started, reverse=True)

    def graph(self) -> MetadataGraph:
        """All that ML Metadata has recorded; empty without a store.

        Raises:
            ConfigError: the store cannot be read.
        """
        check_database(self._metadata)
        try:
            store = open_existing(self._metadata)
            return MetadataGraph({}, (), ()) if store is None else MetadataGraph.read(store)
        except (errors.StatusError, RuntimeError) as error:
            raise unreadable_database(self._metadata, _reason(error)) from error

    def show(self, run_id: str | None = None, records: Sequence[RunRecord] | None = None) -> RunRecord:
        """One run by its id or an unambiguous beginning of it; the newest without an id.

        Args:
            run_id: what to look for.
            records: all runs, if they have been read already.

        Raises:
            ConfigError: there is no such run, several begin so, or the database cannot be read.
        """
        if run_id == "":
            raise ConfigError(
                "the run's id is empty.", field="run", remedy="`tokenmill runs list` shows ids."
            )
        records = self.list() if records is None else records
        if not records:
            raise ConfigError(
                f"no run is recorded in {self._metadata}.",
                field="run",
                remedy="Start one with `tokenmill run`.",
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

    def _record(self, graph: MetadataGraph, run_id: str) -> RunRecord:
        executions = graph.of_run(run_id)
        components = [_component(graph, execution, self._runs.parent) for execution in executions]
        journal = RunJournal.read(self._runs / run_id)
        if not _is_running(journal) and (journal or self._metadata.kind == "sqlite"):
            components = [_ended(component) for component in components]
        started = journal.get("started") or graph.runs[run_id]
        ended = max((c.started + c.seconds for c in components), default=started)
        return RunRecord(
            run_id=run_id,
            pipeline=journal.get("pipeline") or next((one.pipeline for one in executions), ""),
            state=self._state(run_id, components, journal),
            started=started,
            seconds=_seconds(journal, ended - started),
            error=journal.get("error"),
            peak_memory_bytes=journal.get("peak_memory_bytes", 0),
            components=tuple(components),
            **findings.evaluation(components),
            **findings.verdicts(components),
            **findings.push(components),
            **findings.report(components),
            **findings.vocabulary(components),
        )

    def _state(self, run_id: str, components: list[ComponentRun], journal: dict[str, Any]) -> str:
        state = _state(components, journal)
        if state == INTERRUPTED and self._metadata.kind != "sqlite" and not (self._runs / run_id).is_dir():
            # Another working directory's run: whether its process lives is not known here.
            return "elsewhere"
        return state

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


def _component(graph: MetadataGraph, execution: GraphExecution, workdir: Path) -> ComponentRun:
    outputs = {key: graph.artifacts[ids[0]] for key, ids in execution.outputs.items()}
    return ComponentRun(
        id=execution.component,
        state=execution.state,
        started=execution.started,
        seconds=execution.seconds,
        outputs={key: moved_path(artifact.uri, workdir) for key, artifact in outputs.items()},
        properties={key: artifact.properties for key, artifact in outputs.items()},
    )


def _state(components: list[ComponentRun], journal: dict[str, Any]) -> str:
    if journal.get("error") == INTERRUPTED:
        return INTERRUPTED
    if journal.get("error") or any(component.state == "failed" for component in components):
        return "failed"
    _, properties = findings.output(components, "Pusher", "pushed_model")
    if "pushed" in properties:
        if properties["pushed"] != 1:
            return "not blessed"
        return "pushed" if properties.get("new", 1) else "unchanged"
    if _is_running(journal):
        return "running"
    # Without components the store does not know the run: the journal says that it came to its end.
    return "finished" if journal.get("finished") and not components else INTERRUPTED


def _is_running(journal: dict[str, Any]) -> bool:
    return RunJournal.is_alive(journal) and not journal.get("finished")


def _ended(component: ComponentRun) -> ComponentRun:
    """A component of a run that has ended: what ML Metadata still calls running was killed with it."""
    killed = component.state in ("new", "running")
    return dataclasses.replace(component, state=INTERRUPTED) if killed else component


def _seconds(journal: dict[str, Any], recorded: float) -> float:
    if _is_running(journal):
        return time.time() - float(journal["started"])
    return float(journal.get("seconds", recorded))
