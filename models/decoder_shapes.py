"""Shapes of the decoder's weights, as its config decides them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from models.decoder_config import DecoderConfig

BIAS = "_bias"
"""Ending of the name of a kernel's or norm's bias."""


def block_shapes(config: DecoderConfig) -> dict[str, tuple[int, ...]]:
    """Weight of a block → shape; kernels are [in, out], norms and biases have one axis."""
    hidden, parts = config.hidden_size, config.parts
    heads = config.num_heads * config.head_dim
    up, width = ("gate_up", 2) if parts.gated else ("up", 1)
    shapes: dict[str, tuple[int, ...]] = {
        "attention_norm": (hidden,),
        "query_key_value": (hidden, heads + 2 * config.num_kv_heads * config.head_dim),
        "attention_output": (heads, hidden),
        "mlp_norm": (hidden,),
        up: (hidden, width * config.intermediate_size),
        "down": (config.intermediate_size, hidden),
    }
    with_bias = parts.biases | ({"attention_norm", "mlp_norm"} if parts.norm == "layer" else set())
    return {
        name + ending: shape[-1:] if ending else shape
        for name, shape in shapes.items()
        for ending in (("", BIAS) if name in with_bias else ("",))
    }


def top_shapes(config: DecoderConfig) -> dict[str, tuple[int, ...]]:
    """Weight outside the blocks → shape."""
    hidden = config.hidden_size
    shapes: dict[str, tuple[int, ...]] = {"embedding": (config.vocab_size, hidden), "final_norm": (hidden,)}
    if config.parts.positions == "learned":
        shapes["position_embedding"] = (config.max_length, hidden)
    if config.parts.norm == "layer":
        shapes["final_norm" + BIAS] = (hidden,)
    if not config.tied:
        shapes["head"] = (hidden, config.vocab_size)
    return shapes


def decoder_shapes(config: DecoderConfig) -> dict[str, tuple[int, ...]]:
    """Every weight of the decoder, by the name that `Decoder.named_weights` gives it → shape."""
    shapes = top_shapes(config)
    for block in range(config.num_layers):
        shapes |= {f"blocks/{block}/{name}": shape for name, shape in block_shapes(config).items()}
    return shapes
