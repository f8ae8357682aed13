"""A run's own temporary folder, so that nothing stays in the system's."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = "tmp"


@contextmanager
def temporary_folder(workdir: Path) -> Iterator[Path]:
    """Let everything in this process, and in processes it starts, use `<workdir>/tmp` for temporary files.

    Beam and TFX leave folders behind, and a killed run leaves all of them. Whoever calls this holds the
    working directory, so what is there at the start is nobody's any more.

    Args:
        workdir: existing.

    Yields:
        The folder; it is removed at the end.
    """
    folder = (workdir / FOLDER).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    before, variable = tempfile.tempdir, os.environ.get("TMPDIR")
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = before
        if variable is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = variable
        shutil.rmtree(folder, ignore_errors=True)
