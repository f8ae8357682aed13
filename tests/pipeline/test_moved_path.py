from __future__ import annotations

from pathlib import Path

from pipeline.moved_path import moved_path
from pipeline.run_registry import RunRegistry
from tests.run_history import RunHistory, results


def test_the_longest_ending_that_is_there_is_taken(tmp_path: Path):
    (tmp_path / "models" / "tiny" / "7").mkdir(parents=True)
    (tmp_path / "work" / "7").mkdir(parents=True)
    beside = str(tmp_path / "models" / "tiny" / "7")
    assert moved_path("/gone/project/models/tiny/7", tmp_path / "work") == beside
    assert moved_path("/gone/other/9/7", tmp_path / "work") == "/gone/other/9/7"
    assert moved_path(str(tmp_path), tmp_path / "work") == str(tmp_path)


def test_a_moved_working_directory_s_runs_keep_their_figures(tmp_path: Path):
    RunHistory(tmp_path / "old").run("20260101-a", results=results(8.0, "x", 10.0))
    (tmp_path / "old").rename(tmp_path / "new")
    (record,) = RunRegistry.of_workdir(tmp_path / "new").list()
    assert (record.perplexity, record.scored) == (8.0, 100)
    found = next(one for one in record.components if one.id == "Trainer").outputs["model"]
    assert found == str(tmp_path / "new" / "artifacts" / "20260101-a" / "model")
