"""Family: how checkpoints of one architecture describe and name what the decoder computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from models.families.parts import Parts
from models.families.window_fields import WindowFields

BLOCK = "{block}"
"""Stands for the block's number in the names of a block's weights."""

LLAMA_SIZES = {
    "vocab_size": "vocab_size",
    "hidden_size": "hidden_size",
    "intermediate_size": "intermediate_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "num_kv_heads": "num_key_value_heads",
    "head_dim": "head_dim",
    "max_length": "max_position_embeddings",
}
"""Field of a DecoderConfig → Hugging Face's, as most families name them."""

UNSUPPORTED: dict[str, tuple[Any, ...]] = {
    "quantization_config": (None,),
    "is_decoder": (True, False, None),
    "add_cross_attention": (False, None),
}
"""`Family.required` of every family."""


@dataclass(frozen=True, slots=True)
class Family:
    """One architecture: a config reading, the network's parts and a weight-name map.

    Args:
        name: short name, e.g. "llama"; `model_type` in a Hugging Face config.
        architecture: Hugging Face class name, e.g. "LlamaForCausalLM".
        parts: what the network is made of.
        required: config fields whose value decides the computation and that this decoder supports
            with the listed values only; an absent field means the first of them.
        constants: config fields that are the same for all decoders of the family, to be written.
        top_weights: decoder weight → names of the checkpoint tensors it is made of.
        block_weights: the same for each block; `{block}` is the block's number.
        head: checkpoint name of the head, present iff it is not tied to the embedding.
        sizes: field of a DecoderConfig → config field. A size without a field follows from the
            others: as many key and value heads as query heads, heads that fill the hidden size.
        norm_eps: config field of the number added in a norm.
        defaults: what an absent config field means, where that is not the same for all families.
        windows: fields of sliding-window attention; None if the family has none.
        mlp_ratio: MLP width over hidden size where the config names no width.
        inputs_first: whether the checkpoint's block matrices are [in, out], as in GPT-2's Conv1D.
        prefix: beginning of all tensor names that some checkpoints leave out.
        ignored: endings of tensor names that hold no weights, e.g. stored masks.

    A decoder weight of several tensors holds them side by side along the output axis. Matrices of
    blocks and head are [in, out] in the decoder; in the checkpoint the head, and without
    `inputs_first` all of them, are [out, in].
    """

    name: str
    architecture: str
    required: Mapping[str, tuple[Any, ...]]
    constants: Mapping[str, Any]
    top_weights: Mapping[str, tuple[str, ...]]
    block_weights: Mapping[str, tuple[str, ...]]
    head: str = "lm_head.weight"
    parts: Parts = field(default_factory=Parts)
    sizes: Mapping[str, str] = field(default_factory=lambda: LLAMA_SIZES)
    norm_eps: str = "rms_norm_eps"
    defaults: Mapping[str, Any] = field(default_factory=dict)
    windows: WindowFields | None = None
    mlp_ratio: int | None = None
    inputs_first: bool = False
    prefix: str = ""
    ignored: tuple[str, ...] = (".rotary_emb.inv_freq",)

    def weight_names(self, num_layers: int, tied: bool) -> dict[str, tuple[str, ...]]:
        """Decoder weight → names of its checkpoint tensors, for a decoder of that many blocks."""
        names = dict(self.top_weights)
        for block in range(num_layers):
            for weight, tensors in self.block_weights.items():
                path = weight.replace(BLOCK, str(block))
                names[path] = tuple(tensor.replace(BLOCK, str(block)) for tensor in tensors)
        if not tied:
            names["head"] = (self.head,)
        return names
