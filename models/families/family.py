"""Family: how checkpoints of one architecture describe and name what the decoder computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BLOCK = "{block}"
"""Stands for the block's number in the names of a block's weights."""


@dataclass(frozen=True, slots=True)
class Family:
    """One architecture: a config reading and a weight-name map.

    Args:
        name: short name, e.g. "llama"; `model_type` in a Hugging Face config.
        architecture: Hugging Face class name, e.g. "LlamaForCausalLM".
        required: config fields whose value decides the computation and that this decoder supports
            with the listed values only; an absent field means the first of them.
        top_weights: decoder weight → names of the checkpoint tensors it is made of.
        block_weights: the same for each block; `{block}` is the block's number.
        head: checkpoint name of the head, present iff it is not tied to the embedding.

    A decoder weight of several tensors holds them side by side along the output axis. Matrices of
    blocks and head are stored `[out, in]` in the checkpoint and `[in, out]` in the decoder.
    """

    name: str
    architecture: str
    required: Mapping[str, tuple[Any, ...]]
    top_weights: Mapping[str, tuple[str, ...]]
    block_weights: Mapping[str, tuple[str, ...]]
    head: str

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
