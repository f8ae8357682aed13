from __future__ import annotations

import os
from pathlib import Path

import pytest

from models.contract.errors import ConfigError
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
