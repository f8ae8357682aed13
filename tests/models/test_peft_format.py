"""Adapters in PEFT's format: PEFT's own files load to PEFT's logits, and ours are the same files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from models.checkpoint_files import weight_names
from models.contract.errors import CheckpointError, ConfigError
from models.decoder import Decoder
from models.decoder_config import DecoderConfig
from models.lora.low_rank_adapters import LowRankAdapters
from models.peft_format import CONFIG, WEIGHTS, load_adapter, save_adapter
from models.weight_layout import join_tensors

GOLDENS = Path(__file__).resolve().parent.parent / "data" / "goldens"
NAMES = sorted(path.stem.removeprefix("adapter_") for path in GOLDENS.glob("adapter_*.npz"))
DECISIVE = ("peft_type", "task_type", "r", "lora_alpha", "bias", "fan_in_fan_out", "use_rslora", "use_dora")


def tensors_of(arrays: Any) -> dict[str, np.ndarray]:
    return {key.removeprefix("tensor/"): arrays[key] for key in arrays if key.startswith("tensor/")}


def golden_decoder(name: str) -> tuple[Decoder, np.ndarray]:
    """The golden model and its ids."""
    with np.load(GOLDENS / f"{name}.npz") as arrays:
        config = DecoderConfig.from_hf(json.loads(str(arrays["config"])))
        tensors, ids = tensors_of(arrays), arrays["ids"]
    decoder = Decoder(config, initializer="zeros")
    names = weight_names(config)
    for path, weight in decoder.named_weights().items():
        weight.assign(join_tensors(path, [tensors[tensor] for tensor in names[path]], config))
    return decoder, ids


def golden_adapter(name: str, folder: Path) -> np.ndarray:
    """Write the files as PEFT wrote them; returns the logits of PEFT's model."""
    folder.mkdir(parents=True, exist_ok=True)
    with np.load(GOLDENS / f"adapter_{name}.npz") as arrays:
        save_file(tensors_of(arrays), folder / WEIGHTS)
        (folder / CONFIG).write_text(str(arrays["adapter_config"]), encoding="utf-8")
        return arrays["logits"]


def edit(folder: Path, **changes: object) -> None:
    path = folder / CONFIG
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize("name", NAMES)
def test_an_adapter_of_peft_computes_its_logits_attached_and_merged(name, tmp_path):
    decoder, ids = golden_decoder(name)
    base = decoder(ids).numpy()
    expected = golden_adapter(name, tmp_path)
    adapters = load_adapter(decoder, tmp_path)
    assert np.abs(base - expected).max() > 0.1
    np.testing.assert_allclose(decoder(ids).numpy(), expected, atol=1e-4)
    adapters.merge()
    np.testing.assert_allclose(decoder(ids).numpy(), expected, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_saved_is_what_peft_saves(name, tmp_path):
    golden_adapter(name, tmp_path / "peft")
    adapters = load_adapter(golden_decoder(name)[0], tmp_path / "peft")
    save_adapter(adapters, tmp_path / "ours", base="some/model")
    theirs, ours = load_file(tmp_path / "peft" / WEIGHTS), load_file(tmp_path / "ours" / WEIGHTS)
    assert ours.keys() == theirs.keys()
    for key, tensor in theirs.items():
        np.testing.assert_array_equal(ours[key], tensor)
    raw, written = (json.loads((tmp_path / who / CONFIG).read_text()) for who in ("peft", "ours"))
    assert {key: written[key] for key in DECISIVE} == {key: raw[key] for key in DECISIVE}
    assert written["base_model_name_or_path"] == "some/model"
    modules = {key.removeprefix("base_model.model.").rpartition(".lora_")[0] for key in theirs}
    assert all(any(f".{module}".endswith(f".{t}") for t in written["target_modules"]) for module in modules)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"use_dora": True}, r"`use_dora` is True, only False.*Merge"),
        ({"rank_pattern": {"q_proj": 2}}, r"`rank_pattern`"),
        ({"peft_type": "IA3"}, r"`peft_type` is 'IA3', only 'LORA'"),
        ({"r": 0}, r"`r` is 0, not a positive number"),
        ({"lora_alpha": "8"}, r"`lora_alpha` is '8'"),
        ({"r": 5}, r"tensor `.*lora_A.weight` is \[4, 12\], the decoder asks for \[5, 12\]"),
    ],
)
def test_what_is_no_plain_lora_of_this_model_is_refused(changes, message, tmp_path):
    decoder, ids = golden_decoder("llama_untied_grouped")
    golden_adapter("llama_untied_grouped", tmp_path)
    before = decoder(ids).numpy()
    edit(tmp_path, **changes)
    with pytest.raises(CheckpointError, match=message):
        load_adapter(decoder, tmp_path)
    np.testing.assert_array_equal(decoder(ids).numpy(), before)
    assert len(decoder.trainable_variables) == len(decoder.weights)


def test_an_adapter_of_another_model_names_the_layer(tmp_path):
    golden_adapter("gpt2_untied_narrow_mlp", tmp_path)
    with pytest.raises(CheckpointError, match=r"c_attn.*no linear layer.*Use the adapter with"):
        load_adapter(golden_decoder("llama_tied_multihead")[0], tmp_path)


def test_missing_and_broken_files_are_named(tmp_path):
    decoder, _ = golden_decoder("llama_tied_multihead")
    with pytest.raises(CheckpointError, match=CONFIG):
        load_adapter(decoder, tmp_path)
    golden_adapter("llama_tied_multihead", tmp_path)
    (tmp_path / WEIGHTS).write_bytes(b"torn")
    with pytest.raises(CheckpointError, match=WEIGHTS):
        load_adapter(decoder, tmp_path)


def test_a_half_adapter_names_the_missing_tensor(tmp_path):
    decoder, _ = golden_decoder("llama_tied_multihead")
    golden_adapter("llama_tied_multihead", tmp_path)
    tensors = load_file(tmp_path / WEIGHTS)
    tensors.pop("base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight")
    save_file(tensors, tmp_path / WEIGHTS)
    with pytest.raises(CheckpointError, match=r"lacks tensor `.*layers\.0.*q_proj.lora_B"):
        load_adapter(decoder, tmp_path)


def test_an_adapter_replaces_an_adapter_and_nothing_else(tmp_path):
    decoder, _ = golden_decoder("llama_tied_multihead")
    adapters = LowRankAdapters(decoder, 2, 4, ["q_proj"])
    save_adapter(adapters, tmp_path / "adapter", base="model")
    save_adapter(adapters, tmp_path / "adapter", base="other")
    assert json.loads((tmp_path / "adapter" / CONFIG).read_text())["base_model_name_or_path"] == "other"
    (tmp_path / "adapter" / "mine.txt").write_text("keep me")
    with pytest.raises(ConfigError, match=r"mine\.txt"):
        save_adapter(adapters, tmp_path / "adapter", base="model")
