"""GlobFilter: which relative paths of a folder belong to a corpus."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from models.contract.errors import ConfigError


class GlobFilter:
    """Include and exclude globs over relative paths with `/` between their parts.

    `*`, `?` and `[…]` match within one part, `**` matches any number of parts, none included. A
    pattern must match the whole path, so `*.py` means the files directly below the folder and
    `**/*.py` those at any depth.

    Args:
        include: a path belongs to the corpus if one of these matches …
        exclude: … and none of these does.

    Raises:
        ConfigError: a pattern is malformed (see `glob_fault`).
    """

    def __init__(self, include: Sequence[str], exclude: Sequence[str] = ()) -> None:
        for pattern in (*include, *exclude):
            if fault := glob_fault(pattern):
                raise ConfigError(f"glob {pattern!r} {fault}.", field=pattern)
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


def glob_fault(pattern: str) -> str | None:
    """What is wrong with a pattern and what to write instead, or None; to be read after its name."""
    if pattern.endswith("/"):
        return f"ends in '/' and would match no file; write {pattern + '**'!r} for all files below a folder"
    parts = _split(pattern)
    if not parts:
        return "is empty; write '**/*' for all files"
    return next(filter(None, map(_part_fault, parts)), None)


def _part_fault(part: str) -> str | None:
    # Sets first, as the other signs stand for themselves inside of one; `]` does as its first character.
    bare = re.sub(r"\[!?+\]?+[^\]]*\]", "", part)
    if "[" in bare:
        return "has a '[' without its ']'; write '[[]' for the character itself"
    if "{" in bare or "}" in bare:
        return (
            "has braces, which are not supported; write one glob per alternative, or '[{]' for the character"
        )
    if "**" in bare and part != "**":
        return "has '**' next to other characters; it stands alone between slashes, e.g. '**/*.py'"
    return None


def _split(pattern: str) -> list[str]:
    """The parts of a pattern; `**` after `**` adds nothing."""
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    return [part for part, before in zip(parts, ["", *parts], strict=False) if not part == before == "**"]


def _any(parts: list[str], patterns: list[list[str]]) -> bool:
    return any(_match(parts, pattern) for pattern in patterns)


def _match(parts: list[str], pattern: list[str]) -> bool:
    """Run the pattern as an automaton, all its places at once: len(parts) · len(pattern) steps."""
    places = _pass_over({0}, pattern)
    for part in parts:
        held = {place for place in places if pattern[place : place + 1] == ["**"]}
        moved = {
            place + 1 for place in places - held if place < len(pattern) and fnmatchcase(part, pattern[place])
        }
        places = _pass_over(held | moved, pattern)
    return len(pattern) in places


def _pass_over(places: set[int], pattern: list[str]) -> set[int]:
    """The places and those after each `**` there, which may match nothing."""
    reached = set()
    for place in places:
        reached.add(place)
        while pattern[place : place + 1] == ["**"]:
            place += 1
            reached.add(place)
    return reached
