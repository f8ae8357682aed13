"""GlobFilter: which relative paths of a folder belong to a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase


class GlobFilter:
    """Include and exclude globs over relative paths with `/` between their parts.

    `*`, `?` and `[…]` match within one part, `**` matches any number of parts, none included. A
    pattern must match the whole path, so `*.py` means the files directly below the folder and
    `**/*.py` those at any depth.

    Args:
        include: a path belongs to the corpus if one of these matches …
        exclude: … and none of these does.
    """

    def __init__(self, include: Sequence[str], exclude: Sequence[str] = ()) -> None:
        self._include = [_split(pattern) for pattern in include]
        self._exclude = [_split(pattern) for pattern in exclude]

    def __call__(self, path: str) -> bool:
        """Whether the path of a file belongs to the corpus."""
        parts = path.split("/")
        return _any(parts, self._include) and not _any(parts, self._exclude)

    def prunes(self, folder: str) -> bool:
        """Whether everything below a folder is excluded, so that it need not be listed."""
        parts = folder.split("/")
        return _any(parts, [pattern[:-1] for pattern in self._exclude if pattern[-1] == "**"])


def _split(pattern: str) -> list[str]:
    return [part for part in pattern.split("/") if part not in ("", ".")]


def _any(parts: list[str], patterns: list[list[str]]) -> bool:
    return any(_match(parts, pattern) for pattern in patterns)


def _match(parts: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return _match(parts, pattern[1:]) or (bool(parts) and _match(parts[1:], pattern))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _match(parts[1:], pattern[1:])
