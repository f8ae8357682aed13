"""Logits of tiny random models of every family, computed by transformers on PyTorch, as goldens for tests.

Needs the `parity` extra:

    python scripts/make_goldens.py            # write tests/data/goldens/*.npz
    python scripts/make_goldens.py --check    # recompute and compare, write nothing
    python scripts/make_goldens.py --load DIR # compare the checkpoints DIR/<golden> that this project wrote
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

GOLDENS = Path(__file__).resolve().parent.parent / "tests" / "data" / "goldens"
CHECK_TOLERANCE, LOAD_TOLERANCE = 1e-5, 1e-4
LENGTH = 24
ROTARY = {
    "vocab_size": 41,
    "hidden_size": 12,
    "intermediate_size": 20,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": True,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
}
TOKENS = 273
"""Ids of the tiny tokenizer in tests/tiny.py: a golden of that size can be exported with it."""

LLAMA = {"model_type": "llama", **ROTARY, "head_dim": 4}
MISTRAL = {"model_type": "mistral", **ROTARY, "head_dim": 4, "tie_word_embeddings": False}
QWEN2 = {"model_type": "qwen2", **ROTARY, "hidden_size": 24, "num_hidden_layers": 3}
GPT2 = {
    "model_type": "gpt2",
    "vocab_size": 41,
    "n_positions": 64,
    "n_embd": 24,
    "n_layer": 2,
    "n_head": 6,
    "layer_norm_epsilon": 1e-5,
}


def rope(theta: float) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": "default", "rope_theta": theta}}


VARIANTS: dict[str, dict[str, Any]] = {
    "llama_tied_grouped": {**LLAMA, **rope(100000.0)},
    "llama_untied_grouped": {**LLAMA, **rope(500.0), "num_key_value_heads": 3, "tie_word_embeddings": False},
    "llama_tied_multihead": {**LLAMA, "num_key_value_heads": 6},
    "llama_untied_wide_heads": {
        **LLAMA,
        "num_key_value_heads": 1,
        "head_dim": 8,
        "tie_word_embeddings": False,
    },
    "gpt2_tied": {**GPT2, "vocab_size": TOKENS},
    "gpt2_untied_narrow_mlp": {**GPT2, "n_inner": 40, "tie_word_embeddings": False},
    "mistral_window": {**MISTRAL, "vocab_size": TOKENS, "sliding_window": 7},
    "mistral_no_window": {**MISTRAL, "sliding_window": None},
    "qwen2_no_window": {**QWEN2, "tie_word_embeddings": False},
    "qwen2_window_above": {
        **QWEN2,
        "vocab_size": TOKENS,
        "use_sliding_window": True,
        "sliding_window": 5,
        "max_window_layers": 1,
    },
}
"""Golden → fields of its config.json."""


def build(variant: dict[str, Any], seed: int) -> PreTrainedModel:
    """A model whose weights are large enough for errors of any part to show in the logits."""
    torch.manual_seed(seed)
    tokens = {"bos_token_id": None, "eos_token_id": 0}
    config = AutoConfig.for_model(**variant, **tokens)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            scale = weight.ndim == 1 and name.endswith("weight")
            weight.normal_(1.0 if scale else 0.0, 0.3)
    return model


def logits_of(model: PreTrainedModel, ids: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return model(torch.from_numpy(ids).long()).logits.numpy()


def golden(variant: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
    """Config, weights, ids [2, 24] and logits [2, 24, V] of one variant."""
    model = build(variant, seed)
    ids = np.random.default_rng(seed).integers(0, variant["vocab_size"], (2, LENGTH)).astype(np.int32)
    weights = {name: weight.detach().numpy() for name, weight in model.named_parameters()}
    config = {**model.config.to_dict(), "architectures": [type(model).__name__]}
    arrays = {f"tensor/{name}": weight for name, weight in weights.items()}
    text = json.dumps(config, sort_keys=True)
    return {**arrays, "config": np.array(text), "ids": ids, "logits": logits_of(model, ids)}


def write() -> int:
    GOLDENS.mkdir(parents=True, exist_ok=True)
    for seed, (name, variant) in enumerate(VARIANTS.items()):
        np.savez_compressed(GOLDENS / f"{name}.npz", **golden(variant, seed))
    return 0


def check() -> int:
    """Compare the stored logits with what transformers computes now."""
    differences = []
    for seed, (name, variant) in enumerate(VARIANTS.items()):
        with np.load(GOLDENS / f"{name}.npz") as stored:
            differences.append(np.abs(stored["logits"] - golden(variant, seed)["logits"]).max())
    return report(differences, CHECK_TOLERANCE)


def load(directory: Path) -> int:
    """Compare the stored logits with those of checkpoints that transformers loads from `directory`."""
    differences = []
    for folder in sorted(directory.iterdir()):
        model = AutoModelForCausalLM.from_pretrained(folder).eval()
        AutoTokenizer.from_pretrained(folder)
        with np.load(GOLDENS / f"{folder.name}.npz") as stored:
            differences.append(np.abs(stored["logits"] - logits_of(model, stored["ids"])).max())
    return report(differences, LOAD_TOLERANCE)


def report(differences: list[float], allowed: float) -> int:
    worst = max(differences, default=float("nan"))
    print(f"{len(differences)} models: largest difference of a logit {worst:.2e}, allowed {allowed:.0e}")
    return int(not worst <= allowed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the stored files, write nothing")
    parser.add_argument("--load", type=Path, help="compare the checkpoints in this directory")
    arguments = parser.parse_args()
    if arguments.load:
        return load(arguments.load)
    return check() if arguments.check else write()


if __name__ == "__main__":
    sys.exit(main())
