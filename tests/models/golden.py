"""The goldens of `scripts/make_goldens.py`: tiny models of every family and transformers' logits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors.numpy import save_file

from tests.tiny import TINY, write_tiny_tokenizer

FOLDER = Path(__file__).parent.parent / "data" / "goldens"
FAMILIES = ("gpt2", "llama", "mistral", "qwen2")
NAMES = sorted(file.stem for family in FAMILIES for file in FOLDER.glob(f"{family}_*.npz"))
EXPORTED = ["gpt2_tied", "mistral_window", "qwen2_window_above"]
"""One of each family beside Llama; they have as many ids as the tiny tokenizer."""


class Golden(NamedTuple):
    """A model's checkpoint, ids [2, 24] and their logits [2, 24, V]."""

    checkpoint: Path
    ids: np.ndarray
    logits: np.ndarray

    @property
    def logprobs(self) -> np.ndarray:
        """Log-softmax of the logits: [2, 24, V]."""
        shifted = self.logits - self.logits.max(axis=-1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def read_golden(name: str, directory: Path) -> Golden:
    """Write a golden's checkpoint into `directory`, with the tiny tokenizer where it has its size."""
    with np.load(FOLDER / f"{name}.npz") as stored:
        arrays = dict(stored)
    config = json.loads(str(arrays["config"]))
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config))
    tensors = {name[7:]: array for name, array in arrays.items() if name.startswith("tensor/")}
    save_file(tensors, directory / "model.safetensors")
    if config["vocab_size"] == TINY.vocab_size:
        write_tiny_tokenizer(directory)
    return Golden(directory, arrays["ids"], arrays["logits"])
