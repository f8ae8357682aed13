from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.run_command import start
from models.contract.errors import ConfigError
from pipeline.config import RunConfig
from pipeline.workdir_lock import workdir_lock


def test_a_second_run_is_refused_until_the_first_ends(tmp_path: Path):
    with (
        workdir_lock(tmp_path / "w"),
        pytest.raises(ConfigError, match=f"in use by a run of process {os.getpid()}"),
        workdir_lock(tmp_path / "w"),
    ):
        pass
    with workdir_lock(tmp_path / "w"):
        pass


def test_a_refused_run_names_no_log_that_is_never_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    config = RunConfig.from_raw(
        {
            "workdir": str(tmp_path / "w"),
            "model": {"name": "tiny", "checkpoint": "checkpoint"},
            "corpus": {"sources": [{"name": "text", "path": "corpus"}]},
        }
    )
    with workdir_lock(config.workdir), pytest.raises(ConfigError, match="in use by a run"):
        start(config)
    assert capfd.readouterr() == ("", "")
