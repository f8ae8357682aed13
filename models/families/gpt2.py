"""The GPT-2 family: LayerNorm, learned positions, tanh-GELU MLP, biases, matrices stored [in, out]."""

from __future__ import annotations

from models.families.family import UNSUPPORTED, Family
from models.families.parts import Parts

_KERNELS = {
    "query_key_value": "attn.c_attn",
    "attention_output": "attn.c_proj",
    "up": "mlp.c_fc",
    "down": "mlp.c_proj",
}
_NORMS = {"attention_norm": "ln_1", "mlp_norm": "ln_2"}


def _block_weights() -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for ours, theirs in (_NORMS | _KERNELS).items():
        names[f"blocks/{{block}}/{ours}"] = (f"transformer.h.{{block}}.{theirs}.weight",)
        names[f"blocks/{{block}}/{ours}_bias"] = (f"transformer.h.{{block}}.{theirs}.bias",)
    return names


GPT2 = Family(
    name="gpt2",
    architecture="GPT2LMHeadModel",
    parts=Parts(norm="layer", positions="learned", gated=False, biases=frozenset(_KERNELS)),
    required={
        "activation_function": ("gelu_new", "gelu_pytorch_tanh"),
        "scale_attn_weights": (True, None),
        "scale_attn_by_inverse_layer_idx": (False, None),
        "reorder_and_upcast_attn": (False, None),
        **UNSUPPORTED,
    },
    constants={
        "activation_function": "gelu_new",
        "scale_attn_weights": True,
        "attn_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "resid_pdrop": 0.0,
    },
    sizes={
        "vocab_size": "vocab_size",
        "hidden_size": "n_embd",
        "intermediate_size": "n_inner",
        "num_layers": "n_layer",
        "num_heads": "n_head",
        "max_length": "n_positions",
    },
    norm_eps="layer_norm_epsilon",
    defaults={"layer_norm_epsilon": 1e-5, "tie_word_embeddings": True},
    mlp_ratio=4,
    inputs_first=True,
    prefix="transformer.",
    ignored=(".attn.bias", ".attn.masked_bias"),
    top_weights={
        "embedding": ("transformer.wte.weight",),
        "position_embedding": ("transformer.wpe.weight",),
        "final_norm": ("transformer.ln_f.weight",),
        "final_norm_bias": ("transformer.ln_f.bias",),
    },
    block_weights=_block_weights(),
)
