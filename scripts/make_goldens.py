"""Logits of tiny random Llama models, computed by transformers on PyTorch, as goldens for tests.

Needs the `parity` extra only:

    python scripts/make_goldens.py            # write tests/data/goldens/llama_*.npz
    python scripts/make_goldens.py --check    # recompute and compare, write nothing
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

GOLDENS = Path(__file__).resolve().parent.parent / "tests" / "data" / "goldens"
TOLERANCE = 1e-5
COMMON = {
    "vocab_size": 41,
    "hidden_size": 12,
    "intermediate_size": 20,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "head_dim": 4,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5,
    "bos_token_id": None,
    "eos_token_id": 0,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "tied_grouped": {"num_key_value_heads": 2, "tie_word_embeddings": True, "rope_theta": 100000.0},
    "untied_grouped": {"num_key_value_heads": 3, "tie_word_embeddings": False, "rope_theta": 500.0},
    "tied_multihead": {"num_key_value_heads": 6, "tie_word_embeddings": True, "rope_theta": 10000.0},
    "untied_wide_heads": {
        "num_key_value_heads": 1,
        "tie_word_embeddings": False,
        "rope_theta": 10000.0,
        "head_dim": 8,
    },
}


def build(variant: dict[str, Any], seed: int) -> LlamaForCausalLM:
    """A model whose weights are large enough for errors of any part to show in the logits."""
    torch.manual_seed(seed)
    settings = {**COMMON, **variant}
    theta = settings.pop("rope_theta")
    rope = {"rope_type": "default", "rope_theta": theta}
    model = LlamaForCausalLM(LlamaConfig(**settings, rope_parameters=rope)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(1.0 if weight.ndim == 1 else 0.0, 0.3)
    return model


def golden(variant: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
    """Config, weights, ids [2, 24] and logits [2, 24, V] of one variant."""
    model = build(variant, seed)
    ids = np.random.default_rng(seed).integers(0, COMMON["vocab_size"], (2, 24)).astype(np.int32)
    with torch.no_grad():
        logits = model(torch.from_numpy(ids).long()).logits.numpy()
    weights = {name: weight.detach().numpy() for name, weight in model.named_parameters()}
    config = json.dumps(model.config.to_dict(), sort_keys=True)
    arrays = {f"tensor/{name}": weight for name, weight in weights.items()}
    return {**arrays, "config": np.array(config), "ids": ids, "logits": logits}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the stored files, write nothing")
    check = parser.parse_args().check
    worst = 0.0
    for seed, (name, variant) in enumerate(VARIANTS.items()):
        file = GOLDENS / f"llama_{name}.npz"
        arrays = golden(variant, seed)
        if check:
            with np.load(file) as stored:
                worst = max(worst, float(np.abs(stored["logits"] - arrays["logits"]).max()))
        else:
            GOLDENS.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(file, **arrays)
    if check:
        print(f"largest difference of a logit: {worst:.2e}, allowed: {TOLERANCE:.0e}")
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
