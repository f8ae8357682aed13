from __future__ import annotations

from pathlib import Path

import psutil

from pipeline.run_journal import CONFIG_FILE, RunJournal


def test_a_running_and_a_finished_run(tmp_path: Path):
    journal = RunJournal(tmp_path / "r1")
    journal.start("demo", "name: demo\n")
    values = RunJournal.read(tmp_path / "r1")
    assert values["pipeline"] == "demo"
    assert RunJournal.is_alive(values)
    assert "finished" not in values
    journal.finish("it broke")
    values = RunJournal.read(tmp_path / "r1")
    assert (values["error"], values["finished"]) == ("it broke", True)
    assert values["seconds"] >= 0
    assert values["peak_memory_bytes"] > 10**6
    assert (tmp_path / "r1" / CONFIG_FILE).read_text() == "name: demo\n"


def test_a_process_that_is_gone_or_another_one_of_its_id_is_not_alive():
    process = psutil.Process()
    assert not RunJournal.is_alive({"pid": 999_999_999, "process_started": 0})
    assert not RunJournal.is_alive({"pid": process.pid, "process_started": process.create_time() - 100})
    assert not RunJournal.is_alive({})


def test_a_missing_or_broken_journal_is_empty(tmp_path: Path):
    assert RunJournal.read(tmp_path) == {}
    (tmp_path / "run.json").write_text("{")
    assert RunJournal.read(tmp_path) == {}
