"""Tensors of a checkpoint directory: `model.safetensors`, whole or in shards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401 -- lets NumPy, and so safetensors, represent bfloat16
import numpy as np
from safetensors import SafetensorError, safe_open

from models.contract.errors import CheckpointError
from models.decoder_config import read_json

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
_DTYPES = {"F32", "F16", "BF16", "F64"}


class TensorFiles:
    """Read access to the tensors of one checkpoint directory.

    Args:
        directory: holds `model.safetensors`, or `model.safetensors.index.json` and its shards.
        handles: tensor name → open safetensors file that holds it.
        prefix: beginning of all names, which the files may leave out.

    Attributes:
        names: all tensor names.
    """

    def __init__(self, directory: Path, handles: dict[str, Any], prefix: str = "") -> None:
        self.directory = directory
        self._handles = handles
        lacks = not any(name.startswith(prefix) for name in handles)
        self._stored = {prefix + name if lacks else name: name for name in handles}

    @property
    def names(self) -> set[str]:
        """All tensor names."""
        return set(self._stored)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor."""
        return tuple(self._slice(name).get_shape())

    def _slice(self, name: str) -> Any:
        stored = self._stored[name]
        return self._handles[stored].get_slice(stored)

    def read(self, name: str) -> np.ndarray:
        """A tensor, converted to float32.

        Raises:
            CheckpointError: it is stored in a type that is not a plain float, e.g. quantised.
        """
        dtype = self._slice(name).get_dtype()
        if dtype not in _DTYPES:
            raise CheckpointError(
                f"{self.directory}: tensor `{name}` is stored as {dtype}.",
                field=name,
                remedy=f"Use a checkpoint in one of {', '.join(sorted(_DTYPES))}.",
            )
        stored = self._stored[name]
        return self._handles[stored].get_tensor(stored).astype(np.float32, copy=False)


@contextmanager
def open_tensors(directory: Path, prefix: str = "") -> Iterator[TensorFiles]:
    """Open a checkpoint's weight files; nothing is read until a tensor is asked for.

    Args:
        directory: of the checkpoint.
        prefix: beginning of all tensor names, which the files may leave out.

    Raises:
        CheckpointError: no weight file, a missing shard, or a file that is not safetensors.
    """
    with ExitStack() as stack:
        handles: dict[str, Any] = {}
        for path, wanted in _files(directory):
            handle = stack.enter_context(_open(path))
            held = set(handle.keys())
            if wanted is not None and not wanted <= held:
                missing = sorted(wanted - held)
                raise CheckpointError(
                    f"{path}: lacks {len(missing)} tensors that {INDEX} places there, first `{missing[0]}`.",
                    field=missing[0],
                    remedy="Download the checkpoint again.",
                )
            handles.update(dict.fromkeys(held if wanted is None else wanted, handle))
        yield TensorFiles(directory, handles, prefix)


def _files(directory: Path) -> list[tuple[Path, set[str] | None]]:
    """Weight files and, for shards, the tensors that the index places in each."""
    if (directory / WEIGHTS).is_file():
        return [(directory / WEIGHTS, None)]
    index = directory / INDEX
    if not index.is_file():
        raise CheckpointError(
            f"{directory}: holds neither {WEIGHTS} nor {INDEX}.",
            field=WEIGHTS,
            remedy="Save the checkpoint with safe_serialization=True, or import it again.",
        )
    weight_map = read_json(index).get("weight_map")
    if not isinstance(weight_map, dict) or not all(isinstance(name, str) for name in weight_map.values()):
        raise CheckpointError(f"{index}: `weight_map` is not a table of file names.", field="weight_map")
    shards: dict[str, set[str]] = {}
    for tensor, name in weight_map.items():
        if Path(name).name != name:
            raise CheckpointError(f"{index}: `{tensor}` lies outside, in {name!r}.", field="weight_map")
        shards.setdefault(name, set()).add(tensor)
    return [(directory / name, tensors) for name, tensors in sorted(shards.items())]


def _open(path: Path) -> Any:
    try:
        return safe_open(path, "numpy")
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{path}: the shard is missing.", field=str(path), remedy="Download the checkpoint again."
        ) from error
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"{path}: not a readable safetensors file: {error}.",
            field=str(path),
            remedy="Import or download the checkpoint again.",
        ) from error
