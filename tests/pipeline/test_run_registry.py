from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from ml_metadata import metadata_store
from ml_metadata.proto import metadata_store_pb2

from cli.main import cli
from models.contract.errors import ConfigError
from pipeline.run_journal import RunJournal
from pipeline.run_registry import RunRegistry
from tests.run_history import RunHistory, results


def _failed_run(workdir: Path, run_id: str) -> None:
    journal = RunJournal(workdir / "runs" / run_id)
    journal.start("demo", "name: demo\n")
    journal.finish("it broke")


def _broken_run(workdir: Path, run_id: str, text: str) -> None:
    (workdir / "runs" / run_id).mkdir(parents=True)
    (workdir / "runs" / run_id / "run.json").write_text(text)


def _recorded_run(workdir: Path, run_id: str) -> None:
    """A run in ML Metadata, with no component yet."""
    config = metadata_store_pb2.ConnectionConfig()
    config.sqlite.filename_uri = str(workdir / "metadata.sqlite")
    store = metadata_store.MetadataStore(config)
    kind = store.put_context_type(metadata_store_pb2.ContextType(name="pipeline_run"))
    store.put_contexts([metadata_store_pb2.Context(type_id=kind, name=run_id)])


def test_no_runs(tmp_path: Path):
    registry = RunRegistry.of_workdir(tmp_path / "nowhere")
    assert registry.list() == []
    with pytest.raises(ConfigError, match="no run is recorded"):
        registry.show()


def test_runs_with_and_without_a_record_in_the_database(tmp_path: Path):
    _failed_run(tmp_path, "20260101-a")
    _failed_run(tmp_path, "20260102-b")
    _recorded_run(tmp_path, "20260102-b")
    records = RunRegistry.of_workdir(tmp_path).list()
    assert [(r.run_id, r.state, r.pipeline, r.error) for r in records] == [
        ("20260102-b", "failed", "demo", "it broke"),
        ("20260101-a", "failed", "demo", "it broke"),
    ]


def test_a_finished_run_that_the_database_does_not_know_is_not_called_interrupted(tmp_path: Path):
    journal = RunJournal(tmp_path / "runs" / "20260101-a")
    journal.start("demo", "name: demo\n")
    journal.finish()
    assert [record.state for record in RunRegistry.of_workdir(tmp_path).list()] == ["finished"]


def test_show_takes_an_id_its_beginning_or_nothing(tmp_path: Path):
    for run_id in ("20260101-a", "20260102-a", "20260102-ab"):
        _failed_run(tmp_path, run_id)
    registry = RunRegistry.of_workdir(tmp_path)
    assert registry.show().run_id == "20260102-ab"
    assert registry.show("20260101").run_id == "20260101-a"
    assert registry.show("20260102-a").run_id == "20260102-a"
    with pytest.raises(ConfigError, match="'2026' names 3 recorded runs"):
        registry.show("2026")


@pytest.mark.parametrize(
    "text",
    ['{"x": 1}', "[1]", "null", "{", "", '{"pipeline": "p", "pid": 1, "process_started": 1, "started": "x"}'],
)
def test_a_broken_journal_is_listed_as_unreadable_and_hides_no_other_run(
    tmp_path: Path, text: str, capfd: pytest.CaptureFixture[str]
):
    _failed_run(tmp_path, "20260101-a")
    _broken_run(tmp_path, "20260102-b", text)
    states = {r.run_id: r.state for r in RunRegistry.of_workdir(tmp_path).list()}
    assert states == {"20260101-a": "failed", "20260102-b": "unreadable"}
    broken = RunRegistry.of_workdir(tmp_path).show("20260102-b")
    assert "run.json is not a run's journal" in (broken.error or "")
    cli(["runs", "list", "--workdir", str(tmp_path)], standalone_mode=False)
    assert "unreadable" in capfd.readouterr().out


def test_a_recorded_run_with_a_broken_journal_is_shown_as_the_database_knows_it(tmp_path: Path):
    _recorded_run(tmp_path, "20260101-a")
    _broken_run(tmp_path, "20260101-a", '{"x": 1}')
    (record,) = RunRegistry.of_workdir(tmp_path).list()
    assert (record.run_id, record.state) == ("20260101-a", "interrupted")


def test_a_folder_without_a_journal_is_no_run(tmp_path: Path):
    (tmp_path / "runs" / "notes").mkdir(parents=True)
    assert RunRegistry.of_workdir(tmp_path).list() == []


def _foreign_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("create table other (x int)")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("kind", ["garbage", "empty", "truncated", "foreign", "folder"])
def test_a_database_that_cannot_be_read_is_one_message_with_the_remedy(tmp_path: Path, kind: str):
    database = tmp_path / "metadata.sqlite"
    if kind == "garbage":
        database.write_bytes(b"no database " * 500)
    elif kind == "empty":
        database.touch()
    elif kind == "truncated":
        _recorded_run(tmp_path, "r")
        database.write_bytes(database.read_bytes()[: database.stat().st_size // 2])
    elif kind == "foreign":
        _foreign_database(database)
    else:
        database.mkdir()
    with pytest.raises(ConfigError, match=r"metadata\.sqlite cannot be read: .+move it away") as caught:
        RunRegistry.of_workdir(tmp_path).list()
    assert caught.value.codes.exit == 2
    assert "\n" not in str(caught.value)


def test_figures_outlive_the_artifacts_files(tmp_path: Path):
    outcome = {"perplexity": 8, "baseline_perplexity": 10}
    RunHistory(tmp_path).run("20260101-a", properties={"evaluation": outcome}, results=results(8, "x", 10))
    shutil.rmtree(tmp_path / "artifacts")
    (record,) = RunRegistry.of_workdir(tmp_path).list()
    assert (record.perplexity, record.baseline_perplexity, record.scored) == (8.0, 10.0, 0)


def test_records_are_plain_json(tmp_path: Path):
    _failed_run(tmp_path, "20260101-a")
    (record,) = RunRegistry.of_workdir(tmp_path).list()
    assert json.loads(json.dumps(record.to_json()))["state"] == "failed"
