"""A package becomes the checkpoint it was made from."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from models import hf_export
from models.checkpoint import load_checkpoint
from models.contract.errors import ConfigError, PackageError
from models.contract.manifest import HF_PATH
from models.decoder_config import DecoderConfig
from models.decoder_shapes import decoder_shapes
from models.export import export_package
from models.export_options import DTYPES, PROFILES, ExportOptions
from models.hf_export import export_hf
from models.package_variables import variable_key
from models.packed.weight_forms import WeightForms
from preprocessing.tokenizers import load_tokenizer
from tests.tiny import TINY, write_tiny_checkpoint


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


@st.composite
def _decoders(draw: st.DrawFn) -> DecoderConfig:
    family = draw(st.sampled_from(["llama", "gpt2", "qwen2", "mistral"]))
    heads = draw(st.integers(1, 4))
    return dataclasses.replace(
        TINY,
        family=family,
        vocab_size=draw(st.integers(3, 40)),
        intermediate_size=draw(st.integers(1, 24)),
        num_layers=1,
        num_heads=heads,
        num_kv_heads=heads if family == "gpt2" else draw(st.sampled_from([1, heads])),
        hidden_size=heads * 4,
        head_dim=4,
        max_length=8,
        tied=family == "gpt2" or draw(st.booleans()),
    )


def _weights(config: DecoderConfig, seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        path: (random.normal(size=shape) * 10.0 ** random.integers(-6, 6)).astype(np.float32)
        for path, shape in decoder_shapes(config).items()
    }


@given(_decoders(), st.sampled_from(PROFILES), st.sampled_from(DTYPES), st.integers(0, 9))
@settings(deadline=None)
def test_every_form_gives_back_what_it_stands_for(config: DecoderConfig, profile: str, dtype: str, seed: int):
    forms = WeightForms.of(profile, dtype)
    for path, weight in _weights(config, seed).items():
        stored = dict(forms.pack(path, weight))
        back = forms.unpack(path, stored, weight.shape)
        assert (back.shape, back.dtype) == (weight.shape, np.float32)
        changes = weight.ndim == 2 and path != "position_embedding"
        if dtype == "float32" or not changes:
            assert back.tobytes() == weight.tobytes()
        elif dtype == "bfloat16":
            wanted = weight.astype(ml_dtypes.bfloat16).astype(np.float32)
            assert back.tobytes() == wanted.tobytes()
        else:
            # Outputs are the columns of a kernel, but the rows of the embedding.
            step = np.abs(weight).max(axis=1 if path == "embedding" else 0, keepdims=True) / 127
            assert (np.abs(back - weight) <= step * 0.5001).all()


@pytest.mark.parametrize(("profile", "tied"), [("off", False), ("latency", True), ("throughput", False)])
def test_a_float32_package_of_every_profile_gives_back_the_checkpoint_bit_for_bit(
    tmp_path: Path, profile: str, tied: bool
):
    checkpoint = write_tiny_checkpoint(tmp_path / "checkpoint", num_layers=1, tied=tied)
    options = ExportOptions(profile=profile, max_length=64, block_size=4, num_blocks=17)
    export_hf(export_package(checkpoint, tmp_path / "base", options), tmp_path / "hf")
    before, after = (load_file(path / "model.safetensors") for path in (checkpoint, tmp_path / "hf"))
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        assert after[name].tobytes() == tensor.tobytes()


@pytest.mark.parametrize(("dtype", "profile"), [("bfloat16", "off"), ("int8", "off"), ("int8", "throughput")])
def test_quantised_weights_come_back_as_the_numbers_that_the_package_computes_with(
    tmp_path: Path, dtype: str, profile: str
):
    checkpoint = write_tiny_checkpoint(tmp_path / "checkpoint", num_layers=1, tied=False)
    options = ExportOptions(profile=profile, dtype=dtype, max_length=64, block_size=4, num_blocks=17)
    export_hf(export_package(checkpoint, tmp_path / "base", options), tmp_path / "hf")
    again = export_package(tmp_path / "hf", tmp_path / "again", options)
    export_hf(again, tmp_path / "hf2")
    before, after, twice = (
        load_file(path / "model.safetensors") for path in (checkpoint, tmp_path / "hf", tmp_path / "hf2")
    )
    for name, tensor in before.items():
        rounded = tensor.ndim == 2
        assert (after[name].tobytes() == tensor.tobytes()) is not rounded
        np.testing.assert_allclose(after[name], tensor, atol=np.abs(tensor).max() / 200)
        np.testing.assert_allclose(twice[name], after[name], rtol=1e-6)


def test_a_package_from_before_there_were_profiles_is_read_as_it_lies():
    weights = _weights(TINY, seed=0)
    reader = SimpleNamespace(
        get_tensor={variable_key(path): weight for path, weight in weights.items()}.__getitem__,
        has_tensor=lambda key: False,
    )
    for path, shape in decoder_shapes(TINY).items():
        assert hf_export._weight(reader, path, None, shape).tobytes() == weights[path].tobytes()
    with pytest.raises(ValueError, match=r"`embedding` is \[273, 32\]"):
        hf_export._weight(reader, "embedding", None, (31, 7))
