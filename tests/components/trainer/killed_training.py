"""A training that kills its own process with SIGKILL just before or after it changes a file for good."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CALLS = [0]


def run(folder: Path, checkpoint: Path, training: dict[str, Any], kill_at: int, before: bool) -> None:
    """Call run_fn; the process dies at the change number `kill_at`, from 1; 0 lets it live.

    A change is a rename or deletion: of the history, a state's index, the best weights, the result.
    """
    if kill_at:
        _arm(kill_at, before)
    from components.trainer.run_fn import run_fn
    from components.trainer.training_config import TrainingConfig
    from tests.components.trainer.transformed import fn_args

    run_fn(fn_args(folder, checkpoint, TrainingConfig.model_validate(training)))


def _arm(kill_at: int, before: bool) -> None:
    from tensorflow.python.lib.io import file_io

    for owner, name in (
        (Path, "replace"),
        (Path, "rename"),
        (Path, "unlink"),
        (shutil, "rmtree"),
        (file_io, "rename_v2"),
        (file_io, "delete_file_v2"),
    ):
        setattr(owner, name, _deadly(getattr(owner, name), kill_at, before))


def _deadly(change: Callable[..., Any], kill_at: int, before: bool) -> Callable[..., Any]:
    def changed(*args: Any, **kwargs: Any) -> Any:
        _CALLS[0] += 1
        mine = _CALLS[0] == kill_at
        if mine and before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = change(*args, **kwargs)
        if mine:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return changed
