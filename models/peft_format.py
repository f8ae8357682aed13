"""Adapters in PEFT's format: `adapter_config.json` and `adapter_model.safetensors`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from models.checkpoint_files import write_json
from models.contract.errors import CheckpointError, ConfigError
from models.decoder import Decoder
from models.decoder_config import read_json
from models.families.registry import FAMILIES
from models.lora.low_rank_adapters import LowRankAdapters
from models.staged_directory import staged_directory

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
_PREFIX = "base_model.model."
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "peft_type": ("LORA",),
    "bias": ("none", None),
    "use_rslora": (False, None),
    "use_dora": (False, None),
    "use_qalora": (False, None),
    "lora_bias": (False, None),
    "layer_replication": (None, []),
    "alora_invocation_tokens": (None, []),
    "rank_pattern": ({}, None),
    "alpha_pattern": ({}, None),
    "modules_to_save": (None, []),
    "trainable_token_indices": (None, []),
    "layers_to_transform": (None, []),
    "exclude_modules": (None, []),
    "target_parameters": (None, []),
}
"""Settings of PEFT that change the computation, with the values that mean plain LoRA."""


def save_adapter(adapters: LowRankAdapters, directory: Path, *, base: str) -> None:
    """Write adapters so that `peft.PeftModel.from_pretrained` loads them, as a whole or not at all.

    Args:
        adapters: attached or merged.
        directory: new, empty, or an earlier adapter, which is replaced.
        base: name or path of the checkpoint that they belong to.

    Raises:
        ConfigError: `directory` holds something else or cannot be written.
    """
    tensors: dict[str, np.ndarray] = {}
    for module, (down, up) in adapters.pairs.items():
        tensors[f"{_PREFIX}{module}.lora_A.weight"] = np.ascontiguousarray(down.numpy().T)
        tensors[f"{_PREFIX}{module}.lora_B.weight"] = np.ascontiguousarray(up.numpy().T)
    with staged_directory(directory, CONFIG, {WEIGHTS}) as staging:
        try:
            save_file(tensors, staging / WEIGHTS, metadata={"format": "pt"})
            write_json(staging / CONFIG, _config(adapters, base))
        except (OSError, SafetensorError) as error:
            raise ConfigError(
                f"{directory}: cannot write the adapter: {error}.",
                field=str(directory),
                remedy="Free disk space or choose another output directory.",
            ) from error


def load_adapter(decoder: Decoder, directory: Path) -> LowRankAdapters:
    """Attach adapters that PEFT or `save_adapter` wrote to the decoder they were trained for.

    Raises:
        CheckpointError: a file is missing or unreadable, the adapter is no plain LoRA, or it does not
            fit the decoder; the message names the setting or tensor.
    """
    raw = read_json(directory / CONFIG)
    _refuse_unsupported(raw, directory)
    tensors = _read(directory / WEIGHTS)
    # Which layers are adapted the tensors say exactly, `target_modules` may be a pattern.
    modules = sorted({name.removeprefix(_PREFIX).rpartition(".lora_")[0] for name in tensors})
    rank, alpha = (_number(raw, name, directory) for name in ("r", "lora_alpha"))
    try:
        adapters = LowRankAdapters(decoder, int(rank), alpha, modules)
    except ConfigError as error:
        raise CheckpointError(
            f"{directory / WEIGHTS}: {error.message}",
            field=str(directory),
            remedy="Use the adapter with the checkpoint it was trained for.",
        ) from error
    try:
        _assign(adapters, tensors, directory)
    except CheckpointError:
        adapters.detach()
        raise
    return adapters


def _config(adapters: LowRankAdapters, base: str) -> dict[str, Any]:
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": adapters.rank,
        "lora_alpha": adapters.alpha,
        "lora_dropout": adapters.dropout,
        "target_modules": adapters.target_names,
        "bias": "none",
        "fan_in_fan_out": FAMILIES[adapters.config.family].inputs_first,
        "inference_mode": True,
        "init_lora_weights": True,
        "modules_to_save": None,
        "use_rslora": False,
        "use_dora": False,
    }


def _number(raw: dict[str, Any], name: str, directory: Path) -> float:
    value = raw.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise CheckpointError(
            f"{directory / CONFIG}: `{name}` is {value!r}, not a positive number.",
            field=name,
            remedy="Save the adapter again with PEFT.",
        )
    return value


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        with safe_open(path, "numpy") as file:
            return {name: file.get_tensor(name).astype(np.float32) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise CheckpointError(
            f"{path}: not a readable safetensors file: {error}.",
            field=str(path),
            remedy="Save the adapter with safe_serialization=True.",
        ) from error


def _refuse_unsupported(raw: dict[str, Any], directory: Path) -> None:
    for name, allowed in _NEUTRAL.items():
        value = raw.get(name, allowed[0])
        if value not in allowed:
            raise CheckpointError(
                f"{directory / CONFIG}: `{name}` is {value!r}, only {allowed[0]!r} can be computed.",
                field=name,
                remedy="Merge the adapter with PEFT and import the merged checkpoint.",
            )


def _assign(adapters: LowRankAdapters, tensors: dict[str, np.ndarray], directory: Path) -> None:
    wanted = {
        f"{_PREFIX}{module}.lora_{part}.weight": variable
        for module, pair in adapters.pairs.items()
        for part, variable in zip("AB", pair, strict=True)
    }
    for name in sorted(wanted.keys() ^ tensors.keys()):
        kind = "lacks" if name in wanted else "has unknown"
        raise CheckpointError(f"{directory / WEIGHTS}: {kind} tensor `{name}`.", field=name)
    for name, variable in wanted.items():
        if tensors[name].shape != tuple(variable.shape)[::-1]:
            shape = list(tensors[name].shape)
            raise CheckpointError(
                f"{directory / WEIGHTS}: tensor `{name}` is {shape}, "
                f"the decoder asks for {list(variable.shape)[::-1]}.",
                field=name,
                remedy="Use the adapter with the checkpoint it was trained for.",
            )
    for name, variable in wanted.items():
        variable.assign(tensors[name].T)
