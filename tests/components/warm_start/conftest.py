from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from models.contract.manifest import MANIFEST_PATH, Manifest
from tests.components.packages import export_tiny
from tests.tiny import write_tiny_checkpoint


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A checkpoint and its package, blessed, to be copied to a push directory."""
    folder = tmp_path_factory.mktemp("trained")
    checkpoint = write_tiny_checkpoint(folder / "checkpoint", seed=5)
    package = export_tiny(checkpoint, folder / "package")
    blessed = dataclasses.replace(Manifest.load(package), evaluation={"blessed": True}, run_id="a-run")
    (package / MANIFEST_PATH).write_text(blessed.to_json())
    return checkpoint, package
