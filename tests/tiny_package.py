"""Fixtures for a conftest: the tiny checkpoint and a package of it, exported once per test run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from models.contract.manifest import MANIFEST_PATH, Manifest
from models.export import export_package
from models.export_options import ExportOptions
from tests.made_once import made_once
from tests.tiny import write_tiny_checkpoint

NUM_BLOCKS = 8192
"""Eight megabytes of KV memory: a leak of it would show."""


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "tiny-checkpoint", write_tiny_checkpoint)


@pytest.fixture(scope="session")
def tiny_package(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = ExportOptions(model_name="tiny", block_size=4, num_blocks=NUM_BLOCKS)
    base = made_once(
        tmp_path_factory, "tiny", lambda base: export_package(tiny_checkpoint, base, options, version=3)
    )
    return base / "3"


@pytest.fixture(scope="session")
def tiny_xla_package(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same network with `decode_xla`, and few buckets: each costs seconds."""
    options = ExportOptions(model_name="tiny", block_size=4, num_blocks=2048, profile="throughput")

    def export(base: Path) -> None:
        package = export_package(tiny_checkpoint, base, options, version=1)
        few = replace(Manifest.load(package), xla_buckets=((1, 64), (4, 64), (8, 64)))
        (package / MANIFEST_PATH).write_text(few.to_json(), encoding="utf-8")

    return made_once(tmp_path_factory, "tiny-xla", export) / "1"


@pytest.fixture(scope="session")
def tiny_stateless_package(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same network without KV memory."""
    options = ExportOptions(model_name="tiny", stateless=True)
    base = made_once(
        tmp_path_factory,
        "tiny-stateless",
        lambda base: export_package(tiny_checkpoint, base, options, version=1),
    )
    return base / "1"
