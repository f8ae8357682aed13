"""Texts that every Linux machine with this environment has, cut anywhere: input for measurements."""

from __future__ import annotations

import gzip
import math
import os
import random
import sysconfig
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_LIBRARY = Path(sysconfig.get_path("stdlib"))
_PACKAGES = Path(sysconfig.get_path("purelib"))
_SHARE = Path("/usr/share")

TEXT_KINDS: dict[str, tuple[tuple[Path, ...], tuple[str, ...]]] = {
    "catalogues": ((_SHARE / "locale", _PACKAGES), (".mo", ".po")),
    "sources": (
        (_LIBRARY, _PACKAGES, Path("/usr/include"), _SHARE / "perl"),
        (".py", ".pyi", ".h", ".hpp", ".c", ".js", ".proto", ".pm"),
    ),
    "man pages": ((_SHARE / "man",), (".gz",)),
    "package docs": ((_SHARE / "doc", _PACKAGES), (".gz", ".md", ".rst", ".txt", ".html", "copyright")),
}
"""Kind → folders that are searched, and how names of its files end."""

_MOST_OF_A_FILE = 1 << 18
"""Bytes: no large file may be most of what is taken."""

_SHORTEST, _LONGEST = 100, 60_000
"""Bytes of a document, but for the rest of a file."""


def documents(kind: str, size: int, part: int = 0, parts: int = 1) -> Iterator[bytes]:
    """Documents of about so many bytes in all, fewer if the machine has no more; the same at each call.

    Args:
        kind: key of TEXT_KINDS.
        size: bytes.
        part: of the machine's files, in a fixed shuffled order, those whose place is this …
        parts: … modulo this.

    Yields:
        Bytes that begin and end anywhere, within characters too, of lengths spread evenly in logarithm.
    """
    rng = random.Random(f"{kind} {part}")
    left = size
    for file in _files(kind)[part::parts]:
        text = _content(file)
        while text and left > 0:
            length = min(left, round(math.exp(rng.uniform(math.log(_SHORTEST), math.log(_LONGEST)))))
            yield text[:length]
            left -= min(length, len(text))
            text = text[length:]
        if left <= 0:
            return


@cache
def _files(kind: str) -> list[Path]:
    """Regular files of a kind, shuffled; links are left out, they would repeat files."""
    folders, endings = TEXT_KINDS[kind]
    found = sorted(name for folder in folders for name in _below(folder) if name.endswith(endings))
    random.Random(kind).shuffle(found)
    return list(map(Path, found))


@cache
def _below(folder: Path) -> list[str]:
    """Paths of all regular files; a folder that cannot be read has none."""
    found, folders = [], [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        found.append(entry.path)
        except OSError:
            continue
    return found


def _content(file: Path) -> bytes:
    """The first bytes of a file, unpacked; nothing if it cannot be read."""
    try:
        if file.suffix == ".gz":
            with gzip.open(file) as stream:
                return stream.read(_MOST_OF_A_FILE)
        with file.open("rb") as stream:
            return stream.read(_MOST_OF_A_FILE)
    except (OSError, EOFError, zlib.error):
        return b""
