"""Fixtures for a conftest: the tiny checkpoint and a package of it, exported once per session."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.export import export_package
from models.export_options import ExportOptions
from tests.tiny import write_tiny_checkpoint

NUM_BLOCKS = 8192
"""Eight megabytes of KV memory: a leak of it would show."""

_MADE: dict[str, Path] = {}


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if "checkpoint" not in _MADE:
        _MADE["checkpoint"] = write_tiny_checkpoint(tmp_path_factory.mktemp("tiny") / "checkpoint")
    return _MADE["checkpoint"]


@pytest.fixture(scope="session")
def tiny_package(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if "package" not in _MADE:
        options = ExportOptions(model_name="tiny", block_size=4, num_blocks=NUM_BLOCKS)
        base = tmp_path_factory.mktemp("packages") / "tiny"
        _MADE["package"] = export_package(tiny_checkpoint, base, options, version=3)
    return _MADE["package"]
