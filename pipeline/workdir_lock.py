"""One run at a time per working directory."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from models.contract.errors import ConfigError

LOCK_FILE = "run.lock"


@contextmanager
def workdir_lock(workdir: Path) -> Iterator[None]:
    """Hold the working directory; the system lets go of it even if this process is killed.

    Two runs in one directory would write the same SQLite file and the same saved training state.

    Raises:
        ConfigError: another process holds it.
    """
    workdir.mkdir(parents=True, exist_ok=True)
    with (workdir / LOCK_FILE).open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise ConfigError(
                f"working directory {workdir} is in use by a run of process {file.read().strip() or '?'}.",
                field="workdir",
                remedy="Wait for it to end, or set another `workdir`.",
            ) from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
