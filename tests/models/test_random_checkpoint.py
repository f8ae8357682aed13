from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from models import random_checkpoint
from models.checkpoint import load_checkpoint
from models.contract.errors import ConfigError
from models.random_checkpoint import RANDOM_MODELS, write_random_checkpoint
from preprocessing.tokenizers import load_tokenizer
from tests.tiny import TINY


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
