from __future__ import annotations

from pathlib import Path

import pytest

from models.contract.errors import ConfigError
from models.staged_directory import staged_directory


def test_the_directory_appears_when_it_is_complete(tmp_path: Path):
    target = tmp_path / "a" / "b"
    with staged_directory(target, "mark") as staging:
        (staging / "mark").write_text("new")
        (staging / "mark").chmod(0o600)
        assert not target.exists()
    assert (target / "mark").read_text() == "new"
    assert (target / "mark").stat().st_mode & 0o044
    assert [entry.name for entry in target.parent.iterdir()] == ["b"]


def test_a_failure_leaves_what_was_there(tmp_path: Path):
    target = tmp_path / "out"
    with staged_directory(target, "mark") as staging:
        (staging / "mark").write_text("old")
    with pytest.raises(IsADirectoryError), staged_directory(target, "mark") as staging:
        staging.write_text("half")
    assert (target / "mark").read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_an_earlier_result_is_replaced_whole(tmp_path: Path):
    target = tmp_path / "out"
    for name in ("first", "second"):
        with staged_directory(target, "mark") as staging:
            (staging / "mark").touch()
            (staging / name).touch()
    assert sorted(entry.name for entry in target.iterdir()) == ["mark", "second"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_an_empty_directory_is_used(tmp_path: Path):
    (tmp_path / "out").mkdir()
    with staged_directory(tmp_path / "out", "mark") as staging:
        (staging / "mark").touch()
    assert (tmp_path / "out" / "mark").is_file()


@pytest.mark.parametrize("kind", ["file", "directory", "below a file"])
def test_what_is_not_ours_is_left_alone(tmp_path: Path, kind: str):
    target = tmp_path / "out"
    if kind == "directory":
        target.mkdir()
        (target / "other").touch()
    else:
        target.touch()
    if kind == "below a file":
        target = target / "deeper"
    with pytest.raises(ConfigError, match="output directory"), staged_directory(target, "mark"):
        pass
    assert (tmp_path / "out").exists()
