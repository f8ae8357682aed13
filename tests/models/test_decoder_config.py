from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from models.checkpoint_files import write_json
from models.contract.errors import CheckpointError
from models.decoder_config import DecoderConfig
from tests.tiny import TINY

RAW = TINY.to_hf()


@pytest.mark.parametrize(
    "config",
    [TINY, replace(TINY, tied=False, num_kv_heads=4, bos_id=1, eos_ids=(2, 0), pad_id=2, head_dim=16)],
)
def test_a_config_survives_the_hugging_face_form(config: DecoderConfig):
    assert DecoderConfig.from_hf(config.to_hf()) == config


def test_absent_fields_get_the_defaults_of_the_family():
    raw = {name: RAW[name] for name in RAW if name not in ("num_key_value_heads", "head_dim", "rope_theta")}
    del raw["rope_parameters"], raw["tie_word_embeddings"], raw["rms_norm_eps"]
    config = DecoderConfig.from_hf(raw)
    assert (config.num_kv_heads, config.head_dim, config.rope_theta) == (4, 8, 10000.0)
    assert (config.tied, config.norm_eps) == (False, 1e-6)


def test_rope_theta_is_read_in_the_form_of_transformers_4_and_5():
    old = {**RAW, "rope_theta": 7.0, "rope_scaling": None}
    del old["rope_parameters"]
    new = {**RAW, "rope_parameters": {"rope_type": "default", "rope_theta": 8.0}}
    del new["rope_theta"]
    assert DecoderConfig.from_hf(old).rope_theta == 7.0
    assert DecoderConfig.from_hf(new).rope_theta == 8.0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rope_scaling", {"rope_type": "llama3", "factor": 8.0}),
        ("rope_scaling", {"type": "linear", "factor": 2.0}),
        ("rope_parameters", {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0}),
        ("rope_scaling", "dynamic"),
        ("attention_bias", True),
        ("mlp_bias", True),
        ("hidden_act", "gelu"),
        ("sliding_window", 4096),
        ("pretraining_tp", 2),
        ("quantization_config", {"bits": 4}),
        ("final_logit_softcapping", 30.0),
        ("residual_multiplier", 0.22),
        ("vocab_size", None),
        ("hidden_size", "32"),
        ("num_hidden_layers", 0),
        ("num_key_value_heads", 3),
        ("head_dim", 7),
        ("rms_norm_eps", 0),
        ("rms_norm_eps", "1e-5"),
        ("eos_token_id", TINY.vocab_size),
    ],
)
def test_a_field_that_would_change_the_computation_is_refused_by_name(field: str, value: object):
    ours = {
        "num_hidden_layers": "num_layers",
        "num_key_value_heads": "num_kv_heads",
        "rms_norm_eps": "norm_eps",
    }
    name = {**ours, "eos_token_id": "special token id"}.get(field, field)
    with pytest.raises(CheckpointError, match=f"`{name}`") as caught:
        DecoderConfig.from_hf({**RAW, field: value})
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        {"architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox"},
        {"architectures": ["GPT2Model"], "model_type": "gpt2"},
        {"architectures": ["LlamaForSequenceClassification"]},
        {"model_type": "mistral"},
        {"model_type": None},
    ],
)
def test_another_architecture_is_refused(fields: dict):
    with pytest.raises(CheckpointError, match="architectures"):
        DecoderConfig.from_hf({**RAW, **fields})


def test_end_ids_of_the_generation_config_win(tmp_path: Path):
    write_json(tmp_path / "config.json", {**RAW, "eos_token_id": 2})
    assert DecoderConfig.load(tmp_path).eos_ids == (2,)
    write_json(tmp_path / "generation_config.json", {"eos_token_id": [2, 0]})
    assert DecoderConfig.load(tmp_path).eos_ids == (2, 0)


@pytest.mark.parametrize("text", ["{", "[1]", ""])
def test_a_broken_config_file_is_named(tmp_path: Path, text: str):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"config\.json"):
        DecoderConfig.load(tmp_path)


def test_a_missing_config_file_is_named_with_a_remedy(tmp_path: Path):
    with pytest.raises(CheckpointError, match=r"config\.json.*tokenmill import"):
        DecoderConfig.load(tmp_path)
