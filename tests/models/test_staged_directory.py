from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from models.checkpoint import save_checkpoint
from models.contract.errors import ConfigError
from models.gguf_import import import_gguf
from models.hf_import import import_hf
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
        with staged_directory(target, "mark", {"first"}) as staging:
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


def _stranger(target: Path, kind: str) -> Path:
    stranger = target / {"file": "data.txt", "folder": ".git/HEAD", "link": "known"}[kind]
    stranger.parent.mkdir(parents=True, exist_ok=True)
    if kind == "link":
        (target.parent / "elsewhere").write_text("precious")
        stranger.symlink_to(target.parent / "elsewhere")
    else:
        stranger.write_text("precious")
    return stranger


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_a_stranger_beside_the_marker_is_named_and_kept(tmp_path: Path, kind: str):
    target = tmp_path / "out"
    stranger = _stranger(target, kind)
    (target / "mark").touch()
    name = stranger.relative_to(target).parts[0]
    with pytest.raises(ConfigError, match=f"holds '{name}'"), staged_directory(target, "mark", {"known"}):
        pass
    assert stranger.read_text() == "precious"


def _write_while_another_fills(target: Path) -> None:
    with staged_directory(target, "mark") as staging:
        (staging / "mark").touch()
        target.mkdir()
        (target / "mark").touch()
        (target / "data.txt").touch()


def test_a_stranger_that_comes_while_the_block_runs_is_kept(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"data\.txt"):
        _write_while_another_fills(tmp_path / "out")
    assert (tmp_path / "out/data.txt").exists()


@pytest.mark.parametrize(
    "write",
    [
        lambda out: import_hf("absent", out),
        lambda out: import_gguf(Path("absent.gguf"), out),
        lambda out: save_checkpoint(None, out, Path("absent")),
    ],
)
def test_every_writer_of_checkpoints_keeps_strangers(tmp_path: Path, write):
    (tmp_path / "config.json").touch()
    (tmp_path / "data.txt").write_text("precious")
    with pytest.raises(ConfigError, match=r"data\.txt"):
        write(tmp_path)
    assert (tmp_path / "data.txt").read_text() == "precious"


def _killed(target: Path, when: str) -> None:
    """Write `target` in a process that is killed inside the block or between the two renames."""
    kill = "os.kill(os.getpid(), 9)"
    code = f"""
import os, pathlib
from models.staged_directory import staged_directory
target = pathlib.Path({str(target)!r})
with staged_directory(target, "mark") as staging:
    (staging / "mark").write_text("half")
    if {when!r} == "writing":
        {kill}
    rename = pathlib.Path.rename
    def once(self, to):
        rename(self, to)
        {kill}
    pathlib.Path.rename = once
"""
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": root})
    assert done.returncode == -9


@pytest.mark.parametrize("following", ["out", "other"])
def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path, following: str):
    _killed(tmp_path / "out", "writing")
    assert len(list(tmp_path.iterdir())) == 1
    with staged_directory(tmp_path / following, "mark") as staging:
        (staging / "mark").touch()
    assert [entry.name for entry in tmp_path.iterdir()] == [following]


def test_a_result_that_a_killed_writer_moved_aside_is_put_back(tmp_path: Path):
    target = tmp_path / "out"
    with staged_directory(target, "mark") as staging:
        (staging / "mark").write_text("old")
    _killed(target, "swapping")
    assert not target.exists()
    with pytest.raises(ZeroDivisionError), staged_directory(target, "mark"):
        raise ZeroDivisionError
    assert (target / "mark").read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_a_writer_at_work_is_left_alone_and_one_of_a_reused_id_is_not(tmp_path: Path):
    (tmp_path / f".out.staging-{os.getppid()}-00000000").mkdir()
    (tmp_path / f".out.staging-{os.getpid()}-00000000").mkdir()
    with staged_directory(tmp_path / "a", "mark") as outer, staged_directory(tmp_path / "b", "mark"):
        assert outer.is_dir()
    names = {entry.name for entry in tmp_path.iterdir()}
    assert names == {"a", "b", f".out.staging-{os.getppid()}-00000000"}
