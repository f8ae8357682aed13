"""Checkpoints: a decoder from and to a Hugging Face directory, by NumPy and safetensors alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from models.contract.errors import CheckpointError
from models.decoder import Decoder
from models.decoder_config import DecoderConfig
from models.families.registry import FAMILIES
from models.staged_directory import staged_directory
from models.tensor_files import WEIGHTS, TensorFiles, open_tensors

CONFIG = "config.json"
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
    "generation_config.json",
)
"""Files that travel with the weights unchanged."""


def load_checkpoint(directory: Path) -> Decoder:
    """Read a Hugging Face checkpoint directory; weights become float32.

    Args:
        directory: holds config.json and model.safetensors, whole or in shards.

    Raises:
        CheckpointError: a file is missing or unreadable, the architecture or a config field is not
            supported, or a tensor is missing, left over or of the wrong shape; the message names it.
    """
    config = DecoderConfig.load(directory)
    names = FAMILIES[config.family].weight_names(config.num_layers, config.tied)
    with open_tensors(directory) as tensors:
        _refuse_other_names(tensors, names.values(), config)
        _refuse_other_shapes(tensors, names, config)
        # Only now, with everything but the values checked, is memory taken.
        decoder = Decoder(config, initializer="zeros")
        for path, weight in decoder.named_weights().items():
            weight.assign(_join(path, [tensors.read(name) for name in names[path]]))
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
    with staged_directory(directory, CONFIG) as staging:
        copy_tokenizer_files(like, staging)
        write_checkpoint(staging, decoder.config, checkpoint_tensors(decoder))


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
    """
    save_file(tensors, directory / WEIGHTS, metadata={"format": "pt"})
    write_json(directory / CONFIG, config.to_hf())


def write_json(path: Path, value: object) -> None:
    """Write a checkpoint's JSON file."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def checkpoint_tensors(decoder: Decoder) -> dict[str, np.ndarray]:
    """The decoder's weights as float32 arrays in checkpoint names and shapes."""
    config = decoder.config
    names = FAMILIES[config.family].weight_names(config.num_layers, config.tied)
    tensors: dict[str, np.ndarray] = {}
    for path, weight in decoder.named_weights().items():
        tensors.update(zip(names[path], _parts(path, weight.numpy(), config), strict=True))
    return tensors


def tensor_shapes(config: DecoderConfig) -> dict[str, tuple[int, ...]]:
    """Shape of every tensor that a checkpoint of this config must hold, by checkpoint name."""
    names = FAMILIES[config.family].weight_names(config.num_layers, config.tied)
    return dict(_shapes(names, config))


def _shapes(
    names: dict[str, tuple[str, ...]], config: DecoderConfig
) -> Iterator[tuple[str, tuple[int, ...]]]:
    hidden, heads = config.hidden_size, config.num_heads * config.head_dim
    inputs = {"attention_output": heads, "down": config.intermediate_size}
    for path, tensors in names.items():
        kind = path.rpartition("/")[2]
        for tensor, rows in zip(tensors, _widths(kind, config), strict=True):
            yield tensor, (rows,) if kind.endswith("norm") else (rows, inputs.get(kind, hidden))


def _widths(kind: str, config: DecoderConfig) -> list[int]:
    """Output widths of the checkpoint tensors that lie side by side in one decoder weight."""
    key_value = config.num_kv_heads * config.head_dim
    widths = {
        "query_key_value": [config.num_heads * config.head_dim, key_value, key_value],
        "gate_up": [config.intermediate_size] * 2,
        "embedding": [config.vocab_size],
        "head": [config.vocab_size],
    }
    return widths.get(kind, [config.hidden_size])


def _join(path: str, tensors: list[np.ndarray]) -> np.ndarray:
    """Checkpoint tensors → the decoder's weight."""
    if path == "embedding" or tensors[0].ndim == 1:
        return tensors[0]
    return np.concatenate([tensor.T for tensor in tensors], axis=1)


def _parts(path: str, weight: np.ndarray, config: DecoderConfig) -> list[np.ndarray]:
    """The decoder's weight → checkpoint tensors."""
    if path == "embedding" or weight.ndim == 1:
        return [weight]
    cuts = np.cumsum(_widths(path.rpartition("/")[2], config))[:-1]
    return [np.ascontiguousarray(part.T) for part in np.split(weight, cuts, axis=1)]


def _refuse_other_names(
    tensors: TensorFiles, wanted: Iterable[tuple[str, ...]], config: DecoderConfig
) -> None:
    expected = {name for group in wanted for name in group}
    # Old checkpoints store the rotary frequencies, which follow from the config.
    found = {name for name in tensors.names if not name.endswith(".rotary_emb.inv_freq")}
    missing, extra = sorted(expected - found), sorted(found - expected)
    if config.tied and extra == [FAMILIES[config.family].head] and not missing:
        _refuse_untied_head(tensors, extra[0])
        return
    for kind, names in (("lacks", missing), ("has unknown", extra)):
        if names:
            raise CheckpointError(
                f"{tensors.directory}: {kind} {len(names)} tensor(s), first `{names[0]}`.",
                field=names[0],
                remedy="Check that config.json belongs to these weights, or import the checkpoint again.",
            )


def _refuse_untied_head(tensors: TensorFiles, head: str) -> None:
    embedding = "model.embed_tokens.weight"
    if not np.array_equal(tensors.read(head), tensors.read(embedding), equal_nan=True):
        raise CheckpointError(
            f"{tensors.directory}: `tie_word_embeddings` is set, but `{head}` differs from `{embedding}`.",
            field="tie_word_embeddings",
            remedy="Set `tie_word_embeddings` to false in config.json if the head is meant to differ.",
        )


def _refuse_other_shapes(
    tensors: TensorFiles, names: dict[str, tuple[str, ...]], config: DecoderConfig
) -> None:
    for name, shape in _shapes(names, config):
        found = tensors.shape(name)
        if found != shape:
            raise CheckpointError(
                f"{tensors.directory}: tensor `{name}` is {list(found)}, the config asks for {list(shape)}.",
                field=name,
                remedy="Check that config.json belongs to these weights.",
            )
