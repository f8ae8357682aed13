"""Real tiny packages, exported once per test run."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.components.packages import edit_weights, export_tiny
from tests.made_once import made_once
from tests.tiny import write_tiny_checkpoint


@pytest.fixture(scope="session")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Checkpoint and package of random weights, worse than guessing."""

    def make(folder: Path) -> None:
        export_tiny(write_tiny_checkpoint(folder / "checkpoint"), folder / "package")

    return _parts(made_once(tmp_path_factory, "random-model", make))


@pytest.fixture(scope="session")
def nan_model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Checkpoint and package with one NaN among the weights."""

    def make(folder: Path) -> None:
        checkpoint = write_tiny_checkpoint(folder / "checkpoint")
        edit_weights(checkpoint, "mlp.down_proj", math.nan)
        export_tiny(checkpoint, folder / "package")

    return _parts(made_once(tmp_path_factory, "nan-model", make))


def _parts(folder: Path) -> tuple[Path, Path]:
    return folder / "checkpoint", folder / "package" / "1"
