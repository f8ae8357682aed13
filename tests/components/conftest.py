"""Real tiny packages, exported once for all tests of the components."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.components.packages import edit_weights, export_tiny
from tests.tiny import write_tiny_checkpoint


@pytest.fixture(scope="session")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Checkpoint and package of random weights, worse than guessing."""
    folder = tmp_path_factory.mktemp("random")
    checkpoint = write_tiny_checkpoint(folder / "checkpoint")
    return checkpoint, export_tiny(checkpoint, folder / "package")


@pytest.fixture(scope="session")
def nan_model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Checkpoint and package with one NaN among the weights."""
    folder = tmp_path_factory.mktemp("nan")
    checkpoint = write_tiny_checkpoint(folder / "checkpoint")
    edit_weights(checkpoint, "mlp.down_proj", math.nan)
    return checkpoint, export_tiny(checkpoint, folder / "package")
