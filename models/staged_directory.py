"""Write a directory as a whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from models.contract.errors import ConfigError


@contextmanager
def staged_directory(target: Path, marker: str) -> Iterator[Path]:
    """A temporary sibling of `target` that takes its place when the block ends without an exception.

    Args:
        target: directory to write; its parents are created. It may exist empty, or be an earlier
            result, which is then replaced.
        marker: file by which an earlier result is recognised, so that nothing else is deleted.

    Raises:
        ConfigError: `target` exists and is neither empty nor an earlier result, or cannot be written.
    """
    refuse_foreign_directory(target, marker)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise ConfigError(
            f"output directory {target}: cannot be written: {error.strerror}.",
            field=str(target),
            remedy="Choose a directory below one that you may write to.",
        ) from error
    try:
        yield staging
        _open_up(staging)
        _swap(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def refuse_foreign_directory(target: Path, marker: str) -> None:
    """Check that `target` may be written: absent, empty, or an earlier result.

    Raises:
        ConfigError: it is a file or holds something else.
    """
    if target.is_dir() and ((target / marker).is_file() or not any(target.iterdir())):
        return
    if target.exists() or target.is_symlink():
        raise ConfigError(
            f"output directory {target} exists and is not empty, and holds no {marker}.",
            field=str(target),
            remedy="Name a new directory.",
        )


def _open_up(staging: Path) -> None:
    """Undo the private modes of temporary directories and of files that libraries wrote."""
    umask = os.umask(0)
    os.umask(umask)
    for path in (staging, *staging.rglob("*")):
        path.chmod((0o777 if path.is_dir() else 0o666) & ~umask)


def _swap(staging: Path, target: Path) -> None:
    """Put `staging` in place of `target`; an old target is moved aside first, then deleted."""
    if not target.exists():
        staging.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
    target.rename(old / target.name)
    staging.rename(target)
    shutil.rmtree(old, ignore_errors=True)
