"""Writes a tiny GGUF file as converters do, for tests of its import."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize

from tests.tiny import CHAT_TEMPLATE, MERGES, TINY, tiny_tensors, tokenizer_json

TINY_GGUF = replace(TINY, intermediate_size=64)
"""Every width is a multiple of 32, the block size of the quantised types."""

_NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "model.layers": "blk",
}


def write_gguf(
    file: Path,
    *,
    tied: bool = True,
    quantisation: GGMLQuantizationType = GGMLQuantizationType.F32,
    architecture: str = "llama",
    leave_out: str = "",
    feed_forward: int = TINY_GGUF.intermediate_size,
    change: Callable[[GGUFWriter], None] = lambda writer: None,
) -> dict[str, np.ndarray]:
    """Write the file; returns the weights before quantisation, by Hugging Face name."""
    config = replace(TINY_GGUF, tied=tied)
    tensors = tiny_tensors(config)
    writer = GGUFWriter(str(file), architecture)
    for field, value in _fields(feed_forward).items():
        if field != leave_out:
            _add(writer, field, value)
    for name, tensor in tensors.items():
        _add_tensor(writer, name, tensor, quantisation, leave_out)
    change(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tensors


def metadata() -> dict[str, Any]:
    """The tokenizer's fields."""
    tokens = list(tokenizer_json(MERGES)["model"]["vocab"])
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3, 3, 3] + [1] * (len(tokens) - 3),
        "tokenizer.ggml.merges": MERGES,
        "tokenizer.ggml.eos_token_id": 0,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.padding_token_id": 2,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": CHAT_TEMPLATE,
    }


def _fields(feed_forward: int) -> dict[str, Any]:
    return {
        "llama.block_count": TINY_GGUF.num_layers,
        "llama.context_length": TINY_GGUF.max_length,
        "llama.embedding_length": TINY_GGUF.hidden_size,
        "llama.feed_forward_length": feed_forward,
        "llama.attention.head_count": TINY_GGUF.num_heads,
        "llama.attention.head_count_kv": TINY_GGUF.num_kv_heads,
        "llama.attention.layer_norm_rms_epsilon": TINY_GGUF.norm_eps,
        "llama.rope.freq_base": TINY_GGUF.rope_theta,
        **metadata(),
    }


def _add(writer: GGUFWriter, field: str, value: Any) -> None:
    kinds = {bool: "add_bool", int: "add_uint32", float: "add_float32", str: "add_string", list: "add_array"}
    getattr(writer, kinds[type(value)])(field, value)


def _add_tensor(
    writer: GGUFWriter, name: str, tensor: np.ndarray, kind: GGMLQuantizationType, leave_out: str
) -> None:
    ours = name
    for theirs, short in _NAMES.items():
        ours = ours.replace(theirs, short)
    heads = {"attn_q": TINY_GGUF.num_heads, "attn_k": TINY_GGUF.num_kv_heads}.get(ours.split(".")[-2])
    if heads:
        rows, columns = tensor.shape
        halves = tensor.reshape(heads, 2, rows // heads // 2, columns)
        tensor = halves.swapaxes(1, 2).reshape(rows, columns)
    if ours == leave_out:
        return
    if tensor.ndim == 1 or kind == GGMLQuantizationType.F32:
        writer.add_tensor(ours, np.ascontiguousarray(tensor))
    else:
        writer.add_tensor(ours, quantize(np.ascontiguousarray(tensor), kind), raw_dtype=kind)
