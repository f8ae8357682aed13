from __future__ import annotations

from pathlib import Path

import pytest

from models.contract.errors import CheckpointError
from pipeline.checkpoint_source import ensure_checkpoint
from pipeline.model_config import ModelConfig
from tests.tiny import write_tiny_checkpoint


def test_a_missing_checkpoint_is_imported_once(tmp_path: Path):
    source = write_tiny_checkpoint(tmp_path / "source")
    model = ModelConfig(name="m", checkpoint=tmp_path / "checkpoint", source=str(source))
    said: list[str] = []
    assert ensure_checkpoint(model, tmp_path / "work", said.append)
    assert (tmp_path / "checkpoint" / "model.safetensors").is_file()
    assert not ensure_checkpoint(model, tmp_path / "work", said.append)
    assert len(said) == 1


def test_a_missing_checkpoint_without_source_names_the_remedy(tmp_path: Path):
    model = ModelConfig(name="m", checkpoint=tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match=r"nowhere does not exist.*model\.source.*tokenmill import"):
        ensure_checkpoint(model, tmp_path, print)


def test_a_source_that_cannot_be_found_leaves_nothing(tmp_path: Path):
    model = ModelConfig(name="m", checkpoint=tmp_path / "c", source=str(tmp_path / "none.gguf"))
    with pytest.raises(CheckpointError):
        ensure_checkpoint(model, tmp_path, print)
    assert not (tmp_path / "c").exists()
