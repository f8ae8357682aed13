from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from models.checkpoint_files import write_json
from models.contract.errors import CheckpointError
from models.decoder_config import DecoderConfig
from models.hf_config_fields import DEFAULT_ROPE_THETA
from tests.tiny import TINY

RAW = TINY.to_hf()


@pytest.mark.parametrize(
    "config",
    [
        TINY,
        replace(TINY, tied=False, num_kv_heads=4, bos_id=1, eos_ids=(2, 0), pad_id=2, head_dim=16),
        replace(TINY, family="gpt2", num_kv_heads=4, rope_theta=DEFAULT_ROPE_THETA),
        replace(TINY, family="mistral", sliding_window=16),
        replace(TINY, family="mistral"),
        replace(TINY, family="qwen2", head_dim=8),
        replace(TINY, family="qwen2", sliding_window=16, first_window_layer=1),
    ],
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


def hf(family: str, **fields: object) -> dict:
    """A config of that family with some fields changed; None leaves a field out."""
    sizes = {"num_kv_heads": 4} if family == "gpt2" else {}
    raw = {**replace(TINY, family=family, **sizes).to_hf(), **fields}
    return {name: value for name, value in raw.items() if name not in fields or value is not None}


def test_what_gpt2_leaves_out_follows_from_its_sizes():
    config = DecoderConfig.from_hf(
        hf("gpt2", n_inner=None, layer_norm_epsilon=None, tie_word_embeddings=None)
    )
    assert (config.intermediate_size, config.norm_eps, config.tied) == (4 * 32, 1e-5, True)
    assert (config.num_kv_heads, config.head_dim) == (4, 8)


def test_a_mistral_config_without_a_window_has_transformers_default():
    assert DecoderConfig.from_hf(hf("mistral", sliding_window=None)).windows == (4096, 4096)
    explicit = {**hf("mistral"), "sliding_window": None}
    assert DecoderConfig.from_hf(explicit).windows == (None, None)


@pytest.mark.parametrize(
    ("fields", "windows"),
    [
        ({"use_sliding_window": False, "sliding_window": 9, "max_window_layers": 0}, (None, None)),
        ({"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 0}, (9, 9)),
        ({"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 1}, (None, 9)),
        ({"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 2}, (None, None)),
        ({"use_sliding_window": True, "sliding_window": 9, "max_window_layers": None}, (None, None)),
    ],
)
def test_windows_of_qwen2_lie_in_the_upper_layers(fields: dict, windows: tuple):
    assert DecoderConfig.from_hf(hf("qwen2", **fields)).windows == windows


def test_layer_types_may_repeat_what_the_window_says_but_not_contradict_it():
    fields = {"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 1}
    types = ["full_attention", "sliding_attention"]
    assert DecoderConfig.from_hf(hf("qwen2", **fields, layer_types=types)).windows == (None, 9)
    with pytest.raises(CheckpointError, match="`layer_types`"):
        DecoderConfig.from_hf(hf("qwen2", **fields, layer_types=types[::-1]))
    assert DecoderConfig.from_hf({**RAW, "layer_types": ["full_attention"] * 2}) == TINY


@pytest.mark.parametrize(
    ("family", "field", "value", "name"),
    [
        ("gpt2", "activation_function", "relu", "activation_function"),
        ("gpt2", "scale_attn_by_inverse_layer_idx", True, "scale_attn_by_inverse_layer_idx"),
        ("gpt2", "n_head", 5, "n_embd"),
        ("gpt2", "n_positions", "256", "n_positions"),
        ("mistral", "sliding_window", 0, "sliding_window"),
        ("mistral", "sliding_window", "4096", "sliding_window"),
        ("qwen2", "use_sliding_window", True, "max_window_layers"),
        ("qwen2", "quantization_config", {"bits": 4}, "quantization_config"),
        ("qwen2", "hidden_act", "gelu", "hidden_act"),
    ],
)
def test_a_field_of_a_family_that_cannot_be_computed_is_refused(
    family: str, field: str, value: object, name: str
):
    raw = {**hf(family), "max_window_layers": "1", field: value}
    with pytest.raises(CheckpointError, match=f"`{name}`"):
        DecoderConfig.from_hf(raw)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"sliding_window": 8}, "sliding_window"),
        ({"family": "gpt2"}, "num_kv_heads"),
        ({"family": "gpt2", "num_kv_heads": 4, "head_dim": 16}, "head_dim"),
        ({"family": "qwen2", "sliding_window": 8, "first_window_layer": -1}, "first_window_layer"),
    ],
)
def test_a_config_that_its_family_has_no_words_for_is_refused(fields: dict, name: str):
    with pytest.raises(CheckpointError, match=f"`{name}`"):
        replace(TINY, **fields)
