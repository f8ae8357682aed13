from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from models import random_checkpoint
from models.checkpoint import load_checkpoint
from models.contract.errors import ConfigError
from models.random_checkpoint import RANDOM_MODELS, write_initial_checkpoint, write_random_checkpoint
from preprocessing.tokenizers import load_tokenizer
from tests.tiny import TINY, write_tiny_tokenizer


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(TINY, family="gpt2", num_kv_heads=4, vocab_size=300, intermediate_size=128)
    monkeypatch.setitem(random_checkpoint.RANDOM_MODELS, "small", config)


@pytest.mark.usefixtures("small")
def test_a_random_checkpoint_is_one_that_loads(tmp_path: Path):
    path = write_random_checkpoint("small", tmp_path / "small")
    assert load_checkpoint(path).config.vocab_size == 300
    assert load_tokenizer(path).encode_batch(["ab"]) == [[97, 98]]


@pytest.mark.usefixtures("small")
def test_the_same_seed_gives_the_same_weights(tmp_path: Path):
    files = [
        (write_random_checkpoint("small", tmp_path / name, seed=seed) / "model.safetensors").read_bytes()
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert files[0] == files[1] != files[2]


@pytest.mark.usefixtures("small")
def test_norms_start_at_one_and_biases_at_zero(tmp_path: Path):
    tensors = load_file(write_random_checkpoint("small", tmp_path / "small") / "model.safetensors")
    assert set(tensors["transformer.ln_f.weight"]) == {1.0}
    assert set(tensors["transformer.h.0.attn.c_attn.bias"]) == {0.0}


def test_gpt2_has_the_published_number_of_parameters():
    assert RANDOM_MODELS["gpt2"].num_parameters == 124_439_808


def test_an_unknown_model_is_refused_by_name(tmp_path: Path):
    with pytest.raises(ConfigError, match="'gpt9'"):
        write_random_checkpoint("gpt9", tmp_path / "out")


def test_an_initial_checkpoint_has_the_tokenizer_and_spreads_that_follow_the_sizes(tmp_path: Path):
    config = replace(TINY, hidden_size=64, head_dim=16, num_layers=8)
    (tmp_path / "tokenizer").mkdir()
    write_tiny_tokenizer(tmp_path / "tokenizer")
    path = write_initial_checkpoint(config, tmp_path / "tokenizer", tmp_path / "first", seed=3)
    assert load_checkpoint(path).config == config
    assert load_tokenizer(path).fingerprint == load_tokenizer(tmp_path / "tokenizer").fingerprint
    tensors = load_file(path / "model.safetensors")
    block, spread = "model.layers.0.", (2 / (5 * 64)) ** 0.5
    for name in (
        "model.embed_tokens.weight",
        f"{block}self_attn.q_proj.weight",
        f"{block}mlp.up_proj.weight",
    ):
        assert tensors[name].std() == pytest.approx(spread, rel=0.05)
    for name in (f"{block}self_attn.o_proj.weight", f"{block}mlp.down_proj.weight"):
        assert tensors[name].std() == pytest.approx(spread / 4, rel=0.05)
    assert np.all(tensors["model.norm.weight"] == 1)
    again = write_initial_checkpoint(config, tmp_path / "tokenizer", tmp_path / "again", seed=3)
    assert (path / "model.safetensors").read_bytes() == (again / "model.safetensors").read_bytes()
