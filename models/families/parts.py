"""Parts: which of the network's interchangeable pieces a family is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Parts:
    """What the decoder computes where families differ; everything else they share.

    Args:
        norm: "rms" (RMSNorm: a scale) or "layer" (LayerNorm: a scale and a bias).
        positions: "rotary" (queries and keys are turned) or "learned" (a table added to the embedding).
        gated: whether the MLP is SiLU(gate) · up with the kernel `gate_up`, or tanh-GELU(up) with `up`.
        biases: kernels of a block that have one: of "query_key_value", "attention_output", "gate_up" or
            "up", "down".
    """

    norm: Literal["rms", "layer"] = "rms"
    positions: Literal["rotary", "learned"] = "rotary"
    gated: bool = True
    biases: frozenset[str] = frozenset()
