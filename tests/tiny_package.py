"""Fixtures for a conftest: the tiny checkpoint and a package of it, exported once per session."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from models.contract.manifest import MANIFEST_PATH, Manifest
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


@pytest.fixture(scope="session")
def tiny_xla_package(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same network with `decode_xla`, and few buckets: each costs seconds."""
    if "xla" not in _MADE:
        options = ExportOptions(model_name="tiny", block_size=4, num_blocks=2048, profile="throughput")
        base = tmp_path_factory.mktemp("packages") / "tiny-xla"
        package = _MADE["xla"] = export_package(tiny_checkpoint, base, options, version=1)
        few = replace(Manifest.load(package), xla_buckets=((1, 64), (4, 64), (8, 64)))
        (package / MANIFEST_PATH).write_text(few.to_json(), encoding="utf-8")
    return _MADE["xla"]


@pytest.fixture(scope="session")
def tiny_stateless_package(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same network without KV memory."""
    if "stateless" not in _MADE:
        base = tmp_path_factory.mktemp("packages") / "tiny-stateless"
        options = ExportOptions(model_name="tiny", stateless=True)
        _MADE["stateless"] = export_package(tiny_checkpoint, base, options, version=1)
    return _MADE["stateless"]
