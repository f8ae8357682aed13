"""The Qwen2 family: Llama's network with biases of query, key and value; upper layers may have a window."""

from __future__ import annotations

from models.families.family import Family
from models.families.llama import BLOCK_WEIGHTS, ROTARY_CONSTANTS, ROTARY_REQUIRED, TOP_WEIGHTS
from models.families.parts import Parts
from models.families.window_fields import WindowFields

QWEN2 = Family(
    name="qwen2",
    architecture="Qwen2ForCausalLM",
    parts=Parts(biases=frozenset({"query_key_value"})),
    required=ROTARY_REQUIRED,
    constants=ROTARY_CONSTANTS,
    # transformers means these when a config leaves them out.
    defaults={
        "num_key_value_heads": 32,
        "max_position_embeddings": 32768,
        "use_sliding_window": False,
        "sliding_window": 4096,
        "max_window_layers": 28,
    },
    windows=WindowFields(switch="use_sliding_window", first_layer="max_window_layers"),
    top_weights=TOP_WEIGHTS,
    block_weights={
        **BLOCK_WEIGHTS,
        "blocks/{block}/query_key_value_bias": (
            "model.layers.{block}.self_attn.q_proj.bias",
            "model.layers.{block}.self_attn.k_proj.bias",
            "model.layers.{block}.self_attn.v_proj.bias",
        ),
    },
)
