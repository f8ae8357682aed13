"""Recorded paths of a working directory that has been moved since."""

from __future__ import annotations

from pathlib import Path

_FEWEST_PARTS = 3
"""A shorter ending, such as a bare number, could be anything's."""


def moved_path(recorded: str, workdir: Path) -> str:
    """Where a recorded path lies now.

    Args:
        recorded: absolute path that a run wrote down.
        workdir: working directory, or its project's folder below which paths were.

    Returns:
        The path itself if it is there; else the longest ending of it that lies below the working directory
        or beside it; else the path itself.
    """
    path = Path(recorded)
    if path.exists():
        return recorded
    for start in range(1, len(path.parts) - _FEWEST_PARTS + 1):
        for base in (workdir, workdir.parent):
            found = base.joinpath(*path.parts[start:])
            if found.exists():
                return str(found)
    return recorded
