"""The Llama family: RMSNorm, rotary positions, grouped-query attention, gated SiLU MLP, no biases."""

from __future__ import annotations

from models.families.family import UNSUPPORTED, Family

ROTARY_REQUIRED = {
    "hidden_act": ("silu", "swish"),
    "partial_rotary_factor": (1.0, None),
    "rope_interleaved": (False, None),
    "attn_logit_softcapping": (None,),
    "final_logit_softcapping": (None,),
    "query_pre_attn_scalar": (None,),
    "num_local_experts": (None, 0),
    "use_qk_norm": (False, None),
    "no_rope_layers": (None,),
    **UNSUPPORTED,
}
"""What all families with rotary positions and a gated MLP ask of a config."""

ROTARY_CONSTANTS = {"hidden_act": "silu", "attention_dropout": 0.0}

TOP_WEIGHTS = {
    "embedding": ("model.embed_tokens.weight",),
    "final_norm": ("model.norm.weight",),
}
BLOCK_WEIGHTS = {
    "blocks/{block}/attention_norm": ("model.layers.{block}.input_layernorm.weight",),
    "blocks/{block}/query_key_value": (
        "model.layers.{block}.self_attn.q_proj.weight",
        "model.layers.{block}.self_attn.k_proj.weight",
        "model.layers.{block}.self_attn.v_proj.weight",
    ),
    "blocks/{block}/attention_output": ("model.layers.{block}.self_attn.o_proj.weight",),
    "blocks/{block}/mlp_norm": ("model.layers.{block}.post_attention_layernorm.weight",),
    "blocks/{block}/gate_up": (
        "model.layers.{block}.mlp.gate_proj.weight",
        "model.layers.{block}.mlp.up_proj.weight",
    ),
    "blocks/{block}/down": ("model.layers.{block}.mlp.down_proj.weight",),
}

LLAMA = Family(
    name="llama",
    architecture="LlamaForCausalLM",
    required={
        **ROTARY_REQUIRED,
        "attention_bias": (False, None),
        "mlp_bias": (False, None),
        "pretraining_tp": (1, None),
        "sliding_window": (None, False),
        "use_sliding_window": (False, None),
        "attention_multiplier": (None,),
        "embedding_multiplier": (1.0, None),
        "residual_multiplier": (1.0, None),
        "logits_scaling": (1.0, None),
    },
    constants={**ROTARY_CONSTANTS, "attention_bias": False, "mlp_bias": False},
    top_weights=TOP_WEIGHTS,
    block_weights=BLOCK_WEIGHTS,
)
