"""The Mistral family: Llama's network with sliding-window attention in every layer."""

from __future__ import annotations

from models.families.family import Family
from models.families.llama import BLOCK_WEIGHTS, ROTARY_CONSTANTS, ROTARY_REQUIRED, TOP_WEIGHTS
from models.families.window_fields import WindowFields

MISTRAL = Family(
    name="mistral",
    architecture="MistralForCausalLM",
    required=ROTARY_REQUIRED,
    constants=ROTARY_CONSTANTS,
    # transformers means these when a config leaves them out.
    defaults={"num_key_value_heads": 8, "sliding_window": 4096, "max_position_embeddings": 131072},
    windows=WindowFields(),
    top_weights=TOP_WEIGHTS,
    block_weights=BLOCK_WEIGHTS,
)
