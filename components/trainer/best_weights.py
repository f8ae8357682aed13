"""BestWeights: the weights of the best validation, on disk."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

import keras
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from models.contract.errors import ConfigError, DataError

_NAME = re.compile(r"best-(?P<step>\d+)\.safetensors")


class BestWeights:
    """Keeps what is trained as it was after chosen steps, until `keep_only` lets the others go.

    A saved state may lie before the newest best validation; a run that resumes from it needs the best
    of that time. So older files stay until no state is left that could need them.

    Args:
        folder: created at the first save.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, step: int, weights: Sequence[keras.Variable]) -> None:
        """Write the weights as they are now; the file appears as a whole.

        Raises:
            ConfigError: the disk is full or not writable.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        partial = self._folder / f"best-{step}.part"
        try:
            save_file({str(i): weight.numpy() for i, weight in enumerate(weights)}, partial)
        except (OSError, SafetensorError) as error:
            raise ConfigError(
                f"{self._folder}: the best weights cannot be written: {error}.",
                field="workdir",
                remedy="Free disk space or choose another `workdir`.",
            ) from error
        partial.replace(self._path(step))

    def restore(self, step: int, weights: Sequence[keras.Variable]) -> None:
        """Assign what `save` wrote after this step.

        Raises:
            DataError: the file is missing or damaged.
        """
        path = self._path(step)
        try:
            with safe_open(path, framework="np") as tensors:
                for i, weight in enumerate(weights):
                    weight.assign(tensors.get_tensor(str(i)))
        except (OSError, SafetensorError, ValueError) as error:
            raise DataError(
                f"the best weights {path}, of step {step}, cannot be read: {error}.",
                field=str(path),
                remedy=f"Delete {path.parent} to train from the start.",
            ) from error

    def are_readable(self, step: int) -> bool:
        """Whether what `save` wrote after this step is there as a whole."""
        try:
            with safe_open(self._path(step), framework="np"):
                return True
        except (OSError, SafetensorError):
            return False

    def keep_only(self, steps: Collection[int]) -> None:
        """Delete the weights of all other steps."""
        for path in self._folder.glob("best-*"):
            found = _NAME.fullmatch(path.name)
            if found is None or int(found["step"]) not in steps:
                path.unlink(missing_ok=True)

    def _path(self, step: int) -> Path:
        return self._folder / f"best-{step}.safetensors"
