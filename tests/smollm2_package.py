"""Fixture for a conftest: a package of the real SmolLM2, imported and exported once per test run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.made_once import made_once


@pytest.fixture(scope="session")
def smollm2_package(smollm2_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from models.export import export_package
    from models.export_options import ExportOptions
    from models.gguf_import import import_gguf

    def make(folder: Path) -> None:
        import_gguf(smollm2_gguf, folder / "checkpoint")
        options = ExportOptions(num_blocks=257)
        export_package(folder / "checkpoint", folder / "smollm2", options, version=1)

    return made_once(tmp_path_factory, "smollm2", make) / "smollm2" / "1"
