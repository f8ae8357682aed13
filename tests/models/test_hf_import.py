from __future__ import annotations

from pathlib import Path

import huggingface_hub
import numpy as np
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError
from safetensors.numpy import load_file, save_file

from models.contract.errors import CheckpointError, ConfigError
from models.hf_import import import_hf
from tests.tiny import write_tiny_checkpoint


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_tiny_checkpoint(tmp_path / "source")


def test_a_local_directory_is_checked_and_written_as_float32(source: Path, tmp_path: Path):
    tensors = load_file(source / "model.safetensors")
    half = {name: tensor.astype(np.float16) for name, tensor in tensors.items()}
    save_file(
        {**half, "lm_head.weight": half["model.embed_tokens.weight"].copy()}, source / "model.safetensors"
    )
    import_hf(str(source), tmp_path / "out")
    found = load_file(tmp_path / "out" / "model.safetensors")
    assert found.keys() == tensors.keys()
    assert all(np.array_equal(found[name], half[name].astype(np.float32)) for name in found)
    assert (tmp_path / "out" / "tokenizer.json").read_bytes() == (source / "tokenizer.json").read_bytes()


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_an_incomplete_directory_leaves_nothing_behind(source: Path, tmp_path: Path, name: str):
    (source / name).unlink()
    with pytest.raises(CheckpointError, match=name):
        import_hf(str(source), tmp_path / "out")
    assert [entry.name for entry in tmp_path.iterdir()] == ["source"]


@pytest.mark.parametrize("name", ["no such folder", "/no/such/folder", "a/b/c", "../x"])
def test_what_is_neither_a_directory_nor_a_hub_id_is_refused(tmp_path: Path, name: str):
    with pytest.raises(CheckpointError, match="neither a directory nor a hub id"):
        import_hf(name, tmp_path / "out")


def test_an_unreachable_hub_is_one_clear_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def offline(*_: object, **__: object) -> str:
        raise LocalEntryNotFoundError("Got: ConnectError\nand several more lines")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    with pytest.raises(CheckpointError, match=r"'owner/model'.*ConnectError\. .*connection") as caught:
        import_hf("owner/model", tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_hub_id_is_fetched_at_its_revision(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked = []

    def download(hub_id: str, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append((hub_id, revision, "*.safetensors" in allow_patterns))
        return str(source)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    import_hf("owner/model", tmp_path / "out", revision="v2")
    assert asked == [("owner/model", "v2", True)]
    assert (tmp_path / "out" / "config.json").is_file()


def test_a_foreign_output_directory_is_refused_before_any_work(source: Path, tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").touch()
    with pytest.raises(ConfigError, match="out"):
        import_hf(str(source), tmp_path / "out")
