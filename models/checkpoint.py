"""Checkpoints: a decoder from and to a Hugging Face directory, by NumPy and safetensors alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from models.checkpoint_files import (
    CHECKPOINT_FILES,
    CONFIG,
    check_tensors,
    copy_tokenizer_files,
    weight_names,
    write_checkpoint,
)
from models.decoder import Decoder
from models.decoder_config import DecoderConfig
from models.families.registry import FAMILIES
from models.staged_directory import staged_directory
from models.tensor_files import open_tensors
from models.weight_layout import join_tensors, split_weight


def load_checkpoint(directory: Path) -> Decoder:
    """Read a Hugging Face checkpoint directory; weights become float32.

    Args:
        directory: holds config.json and model.safetensors, whole or in shards.

    Raises:
        CheckpointError: a file is missing or unreadable, the architecture or a config field is not
            supported, or a tensor is missing, left over or of the wrong shape; the message names it.
    """
    config = DecoderConfig.load(directory)
    names = weight_names(config)
    with open_tensors(directory, FAMILIES[config.family].prefix) as tensors:
        check_tensors(tensors, config)
        # Only now, with everything but the values checked, is memory taken.
        decoder = Decoder(config, initializer="zeros")
        for path, weight in decoder.named_weights().items():
            weight.assign(join_tensors(path, [tensors.read(name) for name in names[path]], config))
    return decoder


def save_checkpoint(decoder: Decoder, directory: Path, like: Path) -> None:
    """Write a decoder as a Hugging Face directory, as a whole or not at all.

    Args:
        decoder: whose config and weights to write, as float32.
        directory: new, empty, or an earlier checkpoint, which is replaced.
        like: checkpoint directory whose tokenizer and generation files are copied.

    Raises:
        ConfigError: `directory` holds something else or cannot be written.
    """
    with staged_directory(directory, CONFIG, CHECKPOINT_FILES) as staging:
        copy_tokenizer_files(like, staging)
        write_checkpoint(staging, decoder.config, checkpoint_tensors(decoder))


def checkpoint_tensors(decoder: Decoder) -> dict[str, np.ndarray]:
    """The decoder's weights as float32 arrays in checkpoint names and shapes."""
    config = decoder.config
    names = weight_names(config)
    tensors: dict[str, np.ndarray] = {}
    for path, weight in decoder.named_weights().items():
        tensors.update(zip(names[path], split_weight(path, weight.numpy(), config), strict=True))
    return tensors
