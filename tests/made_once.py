"""Folders that are made once per test run, whichever of its processes asks first."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder whose content `make` writes; tests must not change it.

    Args:
        factory: pytest's.
        name: tells the folder from others of the run; the same name means the same content.
        make: takes the folder, which exists and is empty. If it fails, the next who asks tries again.
    """
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # each process has a folder inside the run's
        root = root.parent
    shared = root / "made_once"
    shared.mkdir(exist_ok=True)
    done = shared / f"{name}.done"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = shared / name
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder
