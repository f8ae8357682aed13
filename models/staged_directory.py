"""Write a directory as a whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from models.contract.errors import ConfigError

_LEFTOVER = re.compile(r"\.(?P<target>.+)\.(?P<kind>staging|old)-(?P<owner>\d+)-[0-9a-f]{8}")
_IN_USE: set[Path] = set()
"""Temporary siblings of this process, as a killed one may have had the same id (in a container)."""


@contextmanager
def staged_directory(target: Path, marker: str, known: Collection[str] = ()) -> Iterator[Path]:
    """A temporary sibling of `target` that takes its place when the block ends without an exception.

    What writers that were killed have left beside `target` is removed first, or put back where one
    was killed between moving an earlier result aside and putting the new one in its place.

    Args:
        target: directory to write; its parents are created. It may exist empty, or be an earlier
            result, which is then replaced.
        marker: file by which an earlier result is recognised.
        known: names of the other files that an earlier result may hold, so that nothing else is
            ever deleted.

    Raises:
        ConfigError: `target` exists and is neither empty nor an earlier result, or cannot be written.
    """
    target = Path(os.path.abspath(target))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target.parent)
        refuse_foreign_directory(target, marker, known)
        staging = _sibling(target, "staging")
        staging.mkdir()
    except OSError as error:
        raise _unwritable(target, error) from error
    try:
        yield staging
        _open_up(staging)
        # Again, since writing may have taken minutes.
        refuse_foreign_directory(target, marker, known)
        _swap(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        _IN_USE.discard(staging)


def refuse_foreign_directory(target: Path, marker: str, known: Collection[str] = ()) -> None:
    """Check that `target` may be written: absent, empty, or an earlier result.

    Raises:
        ConfigError: it is a file, or holds something that is not of an earlier result.
    """
    if not target.is_dir():
        if target.exists() or target.is_symlink():
            raise _refusal(target, "is not a directory")
        return
    entries = sorted(target.iterdir())
    if entries and not (target / marker).is_file():
        raise _refusal(target, f"is not empty, and holds no {marker}")
    ours = {marker, *known}
    for entry in entries:
        if entry.name not in ours or entry.is_symlink() or not entry.is_file():
            raise _refusal(target, f"holds {entry.name!r}, which was not written by this command")


def _refusal(target: Path, problem: str) -> ConfigError:
    return ConfigError(
        f"output directory {target} exists and {problem}.", field=str(target), remedy="Name a new directory."
    )


def _unwritable(target: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"output directory {target}: cannot be written: {error.strerror}.",
        field=str(target),
        remedy="Choose a directory below one that you may write to.",
    )


def _sibling(target: Path, kind: str) -> Path:
    path = target.with_name(f".{target.name}.{kind}-{os.getpid()}-{uuid.uuid4().hex[:8]}")
    _IN_USE.add(path)
    return path


def _sweep(folder: Path) -> None:
    """Put back or remove what writers that were killed have left in `folder`."""
    for entry in sorted(folder.iterdir()):
        found = _LEFTOVER.fullmatch(entry.name)
        if found is None or entry in _IN_USE or _is_other_process(int(found["owner"])):
            continue
        target = folder / found["target"]
        if found["kind"] == "old" and not target.exists():
            entry.rename(target)
        else:
            shutil.rmtree(entry, ignore_errors=True)


def _is_other_process(owner: int) -> bool:
    return owner != os.getpid() and psutil.pid_exists(owner)


def _open_up(staging: Path) -> None:
    """Undo the private modes of files that libraries wrote."""
    umask = os.umask(0)
    os.umask(umask)
    for path in (staging, *staging.rglob("*")):
        path.chmod((0o777 if path.is_dir() else 0o666) & ~umask)


def _swap(staging: Path, target: Path) -> None:
    """Put `staging` in place of `target`; an old target is moved aside first, then deleted."""
    if not target.exists():
        staging.rename(target)
        return
    old = _sibling(target, "old")
    try:
        target.rename(old)
        try:
            staging.rename(target)
        except OSError:
            old.rename(target)
            raise
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        _IN_USE.discard(old)
    # A link to a directory is replaced by the result; what it led to is not ours to delete.
    old.unlink() if old.is_symlink() else shutil.rmtree(old, ignore_errors=True)
