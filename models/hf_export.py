"""Export of a model package as a Hugging Face checkpoint, from its variables alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from models.checkpoint_files import (
    CHECKPOINT_FILES,
    CONFIG,
    copy_tokenizer_files,
    weight_names,
    write_checkpoint,
)
from models.contract.errors import PackageError
from models.contract.manifest import HF_PATH, Manifest
from models.decoder_config import DecoderConfig
from models.decoder_shapes import decoder_shapes
from models.package import verify_content
from models.package_variables import variable_key
from models.packed.weight_forms import SCALES, WeightForms
from models.staged_directory import refuse_foreign_directory, staged_directory
from models.weight_layout import split_weight


def export_hf(package: Path, out: Path) -> DecoderConfig:
    """Write a package's weights and tokenizer as a checkpoint that transformers loads.

    The variables are read from their file; the graph is neither loaded nor run. Float32 weights of any
    profile are those of the checkpoint that was exported, bit for bit; bfloat16 and int8 ones are widened
    to the numbers that the package computes with, so what rounding took is lost.

    Args:
        package: version directory.
        out: new, empty, or an earlier checkpoint, which is replaced; appears as a whole or not at all.

    Returns:
        The checkpoint's config.

    Raises:
        PackageError: `package` is none, is damaged, or was written without its Hugging Face files.
        ConfigError: `out` holds something else or cannot be written.
    """
    refuse_foreign_directory(out, CONFIG, CHECKPOINT_FILES)
    manifest = Manifest.load(package)
    if not (package / HF_PATH / CONFIG).is_file():
        raise PackageError(
            f"{package}: holds no {HF_PATH / CONFIG}; it was written by an earlier version.",
            field=str(HF_PATH),
            remedy="Export the package again with this version of Tokenmill.",
        )
    verify_content(package, manifest)
    config = DecoderConfig.load(package / HF_PATH)
    forms = WeightForms.of(manifest.profile, manifest.dtype) if manifest.packed else None
    tensors = _tensors(package, config, forms)
    with staged_directory(out, CONFIG, CHECKPOINT_FILES) as staging:
        copy_tokenizer_files(package / HF_PATH, staging)
        write_checkpoint(staging, config, tensors)
    return config


def _tensors(package: Path, config: DecoderConfig, forms: WeightForms | None) -> dict[str, np.ndarray]:
    """Float32 arrays by checkpoint name."""
    tensors: dict[str, np.ndarray] = {}
    try:
        reader = tf.train.load_checkpoint(str(package / "variables" / "variables"))
        for path, names in weight_names(config).items():
            weight = _weight(reader, path, forms, decoder_shapes(config)[path])
            tensors.update(zip(names, split_weight(path, weight, config), strict=True))
    except (tf.errors.OpError, ValueError, RuntimeError) as error:
        raise PackageError(
            f"{package}: its variables cannot be read: {str(error).splitlines()[0]}.",
            field="variables",
            remedy="Export the package again.",
        ) from error
    return tensors


def _weight(reader: Any, path: str, forms: WeightForms | None, shape: tuple[int, ...]) -> np.ndarray:
    """The decoder's weight `path` as float32; without forms it lies as the decoder has it.

    Raises:
        ValueError: it has not the shape that the config asks for.
    """
    stored = {path: reader.get_tensor(variable_key(path))}
    if reader.has_tensor(variable_key(path + SCALES)):
        stored[path + SCALES] = reader.get_tensor(variable_key(path + SCALES))
    weight = stored[path] if forms is None else forms.unpack(path, stored, shape)
    if weight.shape != shape:
        raise ValueError(f"`{path}` is {list(weight.shape)}, the config asks for {list(shape)}")
    return weight
