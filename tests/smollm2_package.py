"""Fixture for a conftest: a package of the real SmolLM2, imported and exported once per session."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def smollm2_package(smollm2_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from models.export import export_package
    from models.export_options import ExportOptions
    from models.gguf_import import import_gguf

    folder = tmp_path_factory.mktemp("smollm2")
    import_gguf(smollm2_gguf, folder / "checkpoint")
    return export_package(folder / "checkpoint", folder / "smollm2", ExportOptions(num_blocks=257))
