"""Checkpoints with seeded random weights: the start of a training from scratch, and real sizes without a
download for benchmarks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from models.checkpoint_files import (
    CHECKPOINT_FILES,
    CONFIG,
    copy_tokenizer_files,
    tensor_shapes,
    weight_names,
    write_checkpoint,
)
from models.contract.errors import ConfigError
from models.decoder_config import DecoderConfig
from models.staged_directory import refuse_foreign_directory, staged_directory
from preprocessing.tokenizers.byte_tokenizer_files import write_byte_tokenizer

_GPT2_SMALL = DecoderConfig(
    vocab_size=50257,
    hidden_size=768,
    intermediate_size=3072,
    num_layers=12,
    num_heads=12,
    num_kv_heads=12,
    head_dim=64,
    max_length=1024,
    eos_ids=(256,),
    family="gpt2",
)
RANDOM_MODELS = {"gpt2": _GPT2_SMALL}
"""Name → sizes of a published model."""

_SPREAD = 0.05
"""Standard deviation of matrices and embeddings of the models for benchmarks."""

_INTO_RESIDUAL = ("attention_output", "down")
"""Weights whose output is added to the residual stream."""


def write_random_checkpoint(name: str, out: Path, *, seed: int = 0) -> Path:
    """Write a checkpoint of a model's sizes with normal random weights and a byte tokenizer.

    Norms start at one, biases at zero. Ids from 257 on have no text.

    Args:
        name: one of `RANDOM_MODELS`.
        out: new, empty, or an earlier checkpoint, which is replaced; appears as a whole or not at all.
        seed: the same seed gives the same weights.

    Returns:
        `out`.

    Raises:
        ConfigError: no such name, or `out` holds something else.
    """
    if name not in RANDOM_MODELS:
        raise ConfigError(
            f"random model is {name!r}.", field="random", remedy=f"Choose one of {', '.join(RANDOM_MODELS)}."
        )
    refuse_foreign_directory(out, CONFIG, CHECKPOINT_FILES)
    config = RANDOM_MODELS[name]
    with staged_directory(out, CONFIG, CHECKPOINT_FILES) as staging:
        write_byte_tokenizer(staging)
        write_checkpoint(staging, config, _tensors(config, seed))
    return out


def write_initial_checkpoint(config: DecoderConfig, tokenizer: Path, out: Path, *, seed: int) -> Path:
    """Write the checkpoint that a training from scratch starts from.

    Matrices and the embedding are normal with standard deviation sqrt(2 / (5 E)) (Nguyen and Salazar 2019,
    "Transformers without Tears"; 0.02 for E = 1000); those that write into the residual stream have it
    divided by sqrt(2 L), so that the stream's variance does not grow with depth (Radford et al. 2019). Norms
    start at one.

    Args:
        config: of the network; its vocabulary is the tokenizer's.
        tokenizer: folder whose tokenizer files are copied.
        out: as for `write_random_checkpoint`.
        seed: the same seed gives the same weights.

    Returns:
        `out`.

    Raises:
        ConfigError: `out` holds something else or cannot be written.
    """
    refuse_foreign_directory(out, CONFIG, CHECKPOINT_FILES)
    with staged_directory(out, CONFIG, CHECKPOINT_FILES) as staging:
        copy_tokenizer_files(tokenizer, staging)
        write_checkpoint(staging, config, _tensors(config, seed, _initial_spreads(config)))
    return out


def _initial_spreads(config: DecoderConfig) -> dict[str, float]:
    """Standard deviation by checkpoint name."""
    spread = math.sqrt(2 / (5 * config.hidden_size))
    into_residual = spread / math.sqrt(2 * config.num_layers)
    return {
        name: into_residual if path.endswith(_INTO_RESIDUAL) else spread
        for path, names in weight_names(config).items()
        for name in names
    }


def _tensors(config: DecoderConfig, seed: int, spreads: Mapping[str, float] = {}) -> dict[str, np.ndarray]:
    """Float32 arrays by checkpoint name."""
    random = np.random.default_rng(seed)
    tensors = {}
    for name, shape in tensor_shapes(config).items():
        if len(shape) > 1:
            tensors[name] = random.normal(0, spreads.get(name, _SPREAD), shape).astype(np.float32)
        else:
            tensors[name] = np.full(shape, float(name.endswith("weight")), np.float32)
    return tensors
