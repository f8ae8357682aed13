from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pipeline.temporary_folder import temporary_folder


def test_this_process_and_its_children_write_there(tmp_path: Path):
    with temporary_folder(tmp_path) as folder:
        assert Path(tempfile.mkdtemp()).parent == folder
        ask = "import tempfile; print(tempfile.gettempdir())"
        child = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
        assert child.stdout.strip() == str(folder)


def _interrupted(workdir: Path) -> None:
    with temporary_folder(workdir):
        tempfile.mkdtemp()
        raise KeyboardInterrupt


@pytest.mark.parametrize("variable", [None, "/var/tmp"])
def test_what_is_left_behind_goes_and_the_old_place_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str | None
):
    if variable is None:
        monkeypatch.delenv("TMPDIR", raising=False)
    else:
        monkeypatch.setenv("TMPDIR", variable)
    before = tempfile.tempdir
    with pytest.raises(KeyboardInterrupt):
        _interrupted(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert os.environ.get("TMPDIR") == variable
    assert tempfile.tempdir == before


def test_what_a_killed_run_left_is_removed_first(tmp_path: Path):
    (tmp_path / "tmp" / "beam-temp").mkdir(parents=True)
    with temporary_folder(tmp_path) as folder:
        assert list(folder.iterdir()) == []
