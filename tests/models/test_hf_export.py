"""A package becomes the checkpoint it was made from."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from models.checkpoint import load_checkpoint
from models.contract.errors import ConfigError, PackageError
from models.contract.manifest import HF_PATH
from models.hf_export import export_hf
from preprocessing.tokenizers import load_tokenizer


def test_it_gives_back_the_checkpoint_of_the_package(
    tiny_checkpoint: Path, tiny_package: Path, tmp_path: Path
):
    config = export_hf(tiny_package, tmp_path / "hf")
    before, after = (load_file(path / "model.safetensors") for path in (tiny_checkpoint, tmp_path / "hf"))
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        np.testing.assert_array_equal(after[name], tensor)
    assert load_checkpoint(tmp_path / "hf").config == config == load_checkpoint(tiny_checkpoint).config
    read, written = load_tokenizer(tiny_checkpoint), load_tokenizer(tmp_path / "hf")
    assert (written.fingerprint, written.eos_ids) == (read.fingerprint, read.eos_ids)
    assert written.chat_template == read.chat_template


def test_an_earlier_checkpoint_is_replaced_and_a_foreign_directory_is_not(tiny_package: Path, tmp_path: Path):
    out = tmp_path / "hf"
    export_hf(tiny_package, out)
    export_hf(tiny_package, out)
    (out / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"notes\.txt"):
        export_hf(tiny_package, out)
    assert (out / "notes.txt").read_text() == "mine"


def test_a_package_of_an_earlier_version_is_named(tiny_package: Path, tmp_path: Path):
    old = tmp_path / "3"
    shutil.copytree(tiny_package, old)
    shutil.rmtree(old / HF_PATH)
    with pytest.raises(PackageError, match=r"holds no assets\.extra/hf/config\.json"):
        export_hf(old, tmp_path / "hf")


@pytest.mark.parametrize("name", ["variables/variables.data-00000-of-00001", "assets.extra/hf/config.json"])
def test_a_damaged_package_is_refused_and_nothing_written(tiny_package: Path, tmp_path: Path, name: str):
    damaged = tmp_path / "3"
    shutil.copytree(tiny_package, damaged)
    content = bytearray((damaged / name).read_bytes())
    content[40] ^= 1
    (damaged / name).write_bytes(content)
    with pytest.raises(PackageError, match="the manifest says"):
        export_hf(damaged, tmp_path / "hf")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3"]
