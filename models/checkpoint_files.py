"""The files of a checkpoint directory: what they must hold and how they are written; no TensorFlow."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from models.contract.errors import CheckpointError, ConfigError
from models.decoder_config import DecoderConfig
from models.decoder_shapes import BIAS, decoder_shapes
from models.families.registry import FAMILIES
from models.tensor_files import WEIGHTS, TensorFiles

CONFIG = "config.json"
VOCABULARIES = ("tokenizer.json", "tokenizer.model")
"""A checkpoint has one of them at least; tokenizer.json goes first."""
TOKENIZER_FILES = (
    *VOCABULARIES,
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
    "generation_config.json",
)
"""Files that travel with the weights unchanged."""
CHECKPOINT_FILES = (CONFIG, WEIGHTS, *TOKENIZER_FILES)
"""Every file of a checkpoint directory that this project writes."""


def weight_names(config: DecoderConfig) -> dict[str, tuple[str, ...]]:
    """Decoder weight → names of the checkpoint tensors it is made of."""
    return FAMILIES[config.family].weight_names(config.num_layers, config.tied)


def tensor_shapes(config: DecoderConfig) -> dict[str, tuple[int, ...]]:
    """Shape of every tensor that a checkpoint of this config must hold, by checkpoint name."""
    ours, shapes = decoder_shapes(config), {}
    for path, tensors in weight_names(config).items():
        for tensor, width in zip(tensors, output_widths(path, config), strict=True):
            shape = (*ours[path][:-1], width)
            shapes[tensor] = shape[::-1] if is_transposed(path, config) else shape
    return shapes


def is_transposed(path: str, config: DecoderConfig) -> bool:
    """Whether the tensors of the decoder weight `path` are its transpose in the checkpoint."""
    if path == "head":
        return True
    return path.startswith("blocks/") and not FAMILIES[config.family].inputs_first


def output_widths(path: str, config: DecoderConfig) -> list[int]:
    """Output widths of the checkpoint tensors that lie side by side in the decoder weight `path`."""
    widths = {
        "query_key_value": [
            heads * config.head_dim for heads in (config.num_heads, *[config.num_kv_heads] * 2)
        ],
        "gate_up": [config.intermediate_size] * 2,
    }.get(path.rpartition("/")[2].removesuffix(BIAS))
    if widths is None or len(weight_names(config)[path]) == 1:
        return [decoder_shapes(config)[path][-1]]
    return widths


def check_tensors(tensors: TensorFiles, config: DecoderConfig) -> None:
    """Compare names and shapes with what the config asks for; reads no values but a redundant head's.

    Raises:
        CheckpointError: a tensor is missing, left over or of the wrong shape; the message names it.
    """
    shapes = tensor_shapes(config)
    _check_names(tensors, set(shapes), config)
    for name, shape in shapes.items():
        found = tensors.shape(name)
        if found != shape:
            raise CheckpointError(
                f"{tensors.directory}: tensor `{name}` is {list(found)}, the config asks for {list(shape)}.",
                field=name,
                remedy="Check that config.json belongs to these weights.",
            )


def write_config(directory: Path, config: DecoderConfig, like: Path) -> None:
    """Write all of a checkpoint but its weights: config.json, and the files beside `like`'s.

    Args:
        directory: existing; the caller makes the write atomic.
        config: the decoder's.
        like: checkpoint directory whose tokenizer and generation files are copied.
    """
    copy_tokenizer_files(like, directory)
    write_json(directory / CONFIG, config.to_hf())


def copy_tokenizer_files(source: Path, target: Path) -> None:
    """Copy the tokenizer and generation files that `source` has."""
    for name in TOKENIZER_FILES:
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)


def write_checkpoint(directory: Path, config: DecoderConfig, tensors: dict[str, np.ndarray]) -> None:
    """Write config.json and model.safetensors into a directory.

    Args:
        directory: existing; the caller makes the write atomic.
        config: the decoder's.
        tensors: float32 arrays by checkpoint name.

    Raises:
        ConfigError: the disk is full or not writable.
    """
    try:
        save_file(tensors, directory / WEIGHTS, metadata={"format": "pt"})
        write_json(directory / CONFIG, config.to_hf())
    except (OSError, SafetensorError) as error:
        need = sum(tensor.nbytes for tensor in tensors.values()) / 1e6
        raise ConfigError(
            f"{directory.parent}: cannot write {need:.0f} MB of weights: {error}.",
            field=str(directory.parent),
            remedy="Free disk space or choose another output directory.",
        ) from error


def write_json(path: Path, value: object) -> None:
    """Write a checkpoint's JSON file."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _check_names(tensors: TensorFiles, expected: set[str], config: DecoderConfig) -> None:
    # Old checkpoints store rotary frequencies and masks, which follow from the config.
    ignored = FAMILIES[config.family].ignored
    found = {name for name in tensors.names if not name.endswith(ignored)}
    missing, extra = sorted(expected - found), sorted(found - expected)
    if config.tied and extra == [FAMILIES[config.family].head] and not missing:
        _check_redundant_head(tensors, config, extra[0])
        return
    for kind, names in (("lacks", missing), ("has unknown", extra)):
        if names:
            raise CheckpointError(
                f"{tensors.directory}: {kind} tensors ({len(names)}), first `{names[0]}`.",
                field=names[0],
                remedy="Check that config.json belongs to these weights, or import the checkpoint again.",
            )


def _check_redundant_head(tensors: TensorFiles, config: DecoderConfig, head: str) -> None:
    (embedding,) = weight_names(config)["embedding"]
    if not np.array_equal(tensors.read(head), tensors.read(embedding), equal_nan=True):
        raise CheckpointError(
            f"{tensors.directory}: `tie_word_embeddings` is set, but `{head}` differs from `{embedding}`.",
            field="tie_word_embeddings",
            remedy="Set `tie_word_embeddings` to false in config.json if the head is meant to differ.",
        )
