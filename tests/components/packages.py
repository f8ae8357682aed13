"""Packages for tests: bare ones of manifest and a few bytes, and real tiny ones."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from models.contract.manifest import MANIFEST_PATH, Manifest, ModelDims, TokenizerInfo
from models.export import export_package
from models.export_options import ExportOptions
from models.package import content_hash

OPTIONS = ExportOptions(model_name="tiny", max_length=64, block_size=4, num_blocks=65)


def bare_package(
    folder: Path, *, weights: str = "a", evaluation: dict[str, Any] | None = None, fingerprint: str = "t"
) -> Path:
    """A folder that has a manifest, with the right content hash, but no model."""
    manifest = Manifest(
        model="tiny",
        family="llama",
        dims=ModelDims(16, 8, 8, 1, 1, 1, 8),
        max_length=32,
        block_size=4,
        num_blocks=9,
        dtype="float32",
        kv_dtype="float32",
        bos_id=None,
        eos_ids=(0,),
        tokenizer=TokenizerInfo("bytes", fingerprint, False, ()),
        memory_bytes={},
        evaluation=evaluation or {},
    )
    (folder / MANIFEST_PATH).parent.mkdir(parents=True)
    (folder / "variables").mkdir()
    (folder / "variables" / "weights").write_bytes(weights.encode() * 100)
    completed = dataclasses.replace(manifest, content_hash=content_hash(folder))
    (folder / MANIFEST_PATH).write_text(completed.to_json())
    return folder


def export_tiny(checkpoint: Path, base: Path) -> Path:
    """A real package of a tiny checkpoint."""
    return export_package(checkpoint, base, OPTIONS, version=1)


def edit_weights(checkpoint: Path, name_part: str, value: float) -> None:
    """Set one number of a checkpoint's first tensor whose name holds `name_part`."""
    file = checkpoint / "model.safetensors"
    tensors = {name: np.array(tensor) for name, tensor in load_file(file).items()}
    name = next(name for name in sorted(tensors) if name_part in name)
    tensors[name].flat[0] = value
    save_file(tensors, file, metadata={"format": "pt"})
