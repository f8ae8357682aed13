"""Writes a checkpoint's weights as a float32 GGUF file without a tokenizer, for llama.cpp.

Source of names and keys: llama.cpp's convert_hf_to_gguf.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from safetensors.numpy import load_file

_INPUTS_FIRST = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
"""GPT-2's matrices are stored [in, out]; GGUF wants [out, in]."""

_UNUSED = (".attn.bias", ".attn.masked_bias", "rotary_emb.inv_freq")


def write_gguf(checkpoint: Path, target: Path) -> None:
    """Write `target`, whole or not at all.

    Args:
        checkpoint: Hugging Face directory of a GPT-2 or Llama; its model.safetensors may be in shards.
        target: GGUF file.

    Raises:
        ValueError: another architecture, or a tensor that GGUF has no name for.
    """
    config = json.loads((checkpoint / "config.json").read_text())
    kind = config["model_type"]
    if kind not in ("gpt2", "llama"):
        raise ValueError(f"no GGUF names for `model_type` {kind!r}")
    target.parent.mkdir(parents=True, exist_ok=True)
    staged = target.with_suffix(".part")
    writer = gguf.GGUFWriter(str(staged), kind)
    (_gpt2_keys if kind == "gpt2" else _llama_keys)(writer, config)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("none")
    arch = gguf.MODEL_ARCH.GPT2 if kind == "gpt2" else gguf.MODEL_ARCH.LLAMA
    names = gguf.get_tensor_name_map(arch, config.get("n_layer") or config["num_hidden_layers"])
    for name, tensor in _tensors(checkpoint):
        if name.endswith(_UNUSED) or (name == "lm_head.weight" and config.get("tie_word_embeddings", True)):
            continue
        theirs = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if theirs is None:
            raise ValueError(f"GGUF has no name for the tensor {name!r}")
        writer.add_tensor(theirs, _arranged(name, tensor.astype(np.float32), config))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    staged.replace(target)


def _tensors(checkpoint: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Name and values of every tensor, shard by shard."""
    index = checkpoint / "model.safetensors.index.json"
    files = {"model.safetensors"}
    if not (checkpoint / "model.safetensors").is_file() and index.is_file():
        files = set(json.loads(index.read_text())["weight_map"].values())
    for file in sorted(files):
        yield from load_file(checkpoint / file).items()


def _gpt2_keys(writer: gguf.GGUFWriter, config: dict[str, Any]) -> None:
    writer.add_block_count(config["n_layer"])
    writer.add_context_length(config["n_positions"])
    writer.add_embedding_length(config["n_embd"])
    writer.add_feed_forward_length(config.get("n_inner") or 4 * config["n_embd"])
    writer.add_head_count(config["n_head"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])


def _llama_keys(writer: gguf.GGUFWriter, config: dict[str, Any]) -> None:
    heads = config["num_attention_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    rope = config.get("rope_parameters") or config
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config.get("num_key_value_heads") or heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_dimension_count(head_dim)
    writer.add_rope_freq_base(rope.get("rope_theta", 10000.0))
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])


def _arranged(name: str, tensor: np.ndarray, config: dict[str, Any]) -> np.ndarray:
    """The tensor as llama.cpp reads it: [out, in], rotary pairs next to each other."""
    if name.endswith(_INPUTS_FIRST):
        return np.ascontiguousarray(tensor.T)
    if name.endswith(("q_proj.weight", "k_proj.weight")):
        heads = config["num_attention_heads"]
        if name.endswith("k_proj.weight"):
            heads = config.get("num_key_value_heads") or heads
        halves = tensor.reshape(heads, 2, tensor.shape[0] // heads // 2, tensor.shape[1])
        return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(tensor.shape))
    return tensor
