from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from ml_metadata import metadata_store
from ml_metadata.proto import metadata_store_pb2

from pipeline.run_registry import RunRegistry


def _killed_run(workdir: Path) -> None:
    """A run whose process ended while ML Metadata recorded a component as running."""
    config = metadata_store_pb2.ConnectionConfig()
    config.sqlite.filename_uri = str(workdir / "metadata.sqlite")
    store = metadata_store.MetadataStore(config)
    run, node = (
        metadata_store_pb2.Context(
            type_id=store.put_context_type(metadata_store_pb2.ContextType(name=kind)), name=name
        )
        for kind, name in (("pipeline_run", "20260101-a"), ("node", "tiny.Trainer"))
    )
    trainer = store.put_execution_type(metadata_store_pb2.ExecutionType(name="Trainer"))
    running = metadata_store_pb2.Execution(
        type_id=trainer, last_known_state=metadata_store_pb2.Execution.RUNNING
    )
    store.put_execution(running, [], [run, node])
    journal = workdir / "runs" / "20260101-a" / "run.json"
    journal.parent.mkdir(parents=True)
    told = {"pipeline": "tiny", "pid": 1 << 22, "process_started": 0.0, "started": 1.0}
    journal.write_text(json.dumps(told))


def test_a_component_that_was_killed_does_not_seem_to_run(tmp_path: Path):
    _killed_run(tmp_path)
    (record,) = RunRegistry.of_workdir(tmp_path).list()
    assert (record.state, [(run.id, run.state) for run in record.components]) == (
        "interrupted",
        [("Trainer", "interrupted")],
    )


def _half_written(workdir: Path) -> Path:
    """A metadata database and the journal beside it, as a process killed while writing leaves them."""
    original = workdir / "original.sqlite"
    config = metadata_store_pb2.ConnectionConfig()
    config.sqlite.filename_uri = str(original)
    store = metadata_store.MetadataStore(config)
    kind = store.put_context_type(metadata_store_pb2.ContextType(name="pipeline_run"))
    runs = [metadata_store_pb2.Context(type_id=kind, name=f"run-{number}") for number in range(300)]
    store.put_contexts(runs)
    database = workdir / "metadata.sqlite"
    with closing(sqlite3.connect(original)) as connection:
        # A cache of few pages makes SQLite write pages of the database before the transaction ends.
        connection.execute("PRAGMA cache_size = 2")
        connection.execute("UPDATE Context SET name = 'half-' || name")
        for suffix in ("", "-journal"):
            shutil.copy(f"{original}{suffix}", f"{database}{suffix}")
    return database


def test_runs_are_listed_after_a_run_was_killed_while_writing_its_database(tmp_path: Path):
    database = _half_written(tmp_path)
    records = RunRegistry.of_workdir(tmp_path).list()
    assert sorted(record.run_id for record in records) == sorted(f"run-{number}" for number in range(300))
    assert not Path(f"{database}-journal").exists()
