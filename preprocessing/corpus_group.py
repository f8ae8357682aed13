"""Groups: what stays together when a corpus is split."""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath

from preprocessing.corpus_files import CorpusFile
from preprocessing.records.record import Record


def path_group(path: str, depth: int) -> str:
    """The leading parts of a path; the name of a file loses its suffix.

    A module and the package of the same name are one group. The source does not count:
    folders of the same name in two sources hold versions of the same thing.
    """
    parts = PurePosixPath(path).parts
    if len(parts) > depth:
        return "/".join(parts[:depth])
    return "/".join((*parts[:-1], PurePosixPath(parts[-1]).stem))


def group_of(file: CorpusFile, record: Record, depth: int) -> str:
    """A text's group is told by its path, a row's by its group field or else by its content.

    The same text is thus in the same group whatever file, row or span it comes in.
    """
    if file.format == "text":
        return path_group(file.path.removeprefix(file.prefix), depth)
    return record.group if record.group is not None else f"sha256:{record.digest().hex()[:16]}"


def group_rank(group: str, seed: int) -> int:
    """A group's 64-bit hash with the seed: its place when groups are held out."""
    digest = hashlib.sha256(f"{seed}\0{group}".encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:8], "big")


def rank_fraction(rank: int) -> float:
    """A rank as a number in [0, 1)."""
    return (rank >> 16) / 2**48
