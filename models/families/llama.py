"""The Llama family: RMSNorm, rotary positions, grouped-query attention, gated SiLU MLP, no biases."""

from __future__ import annotations

from models.families.family import Family

LLAMA = Family(
    name="llama",
    architecture="LlamaForCausalLM",
    required={
        "hidden_act": ("silu", "swish"),
        "attention_bias": (False, None),
        "mlp_bias": (False, None),
        "pretraining_tp": (1, None),
        "partial_rotary_factor": (1.0, None),
        "rope_interleaved": (False, None),
        "sliding_window": (None, False),
        "use_sliding_window": (False, None),
        "layer_types": (None,),
        "quantization_config": (None,),
        "attention_multiplier": (None,),
        "embedding_multiplier": (1.0, None),
        "residual_multiplier": (1.0, None),
        "logits_scaling": (1.0, None),
        "attn_logit_softcapping": (None,),
        "final_logit_softcapping": (None,),
        "query_pre_attn_scalar": (None,),
        "num_local_experts": (None, 0),
        "use_qk_norm": (False, None),
        "no_rope_layers": (None,),
        "is_decoder": (True, False, None),
        "add_cross_attention": (False, None),
    },
    top_weights={
        "embedding": ("model.embed_tokens.weight",),
        "final_norm": ("model.norm.weight",),
    },
    block_weights={
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
    },
    head="lm_head.weight",
)
