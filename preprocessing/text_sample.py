"""A sample of documents by bytes, drawn by their names: the same documents in whatever order they come."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def place(name: bytes) -> int:
    """A document's place among all, 64 bits of a hash of its name."""
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big")


def bytes_taken(places: Sequence[int], sizes: Sequence[int], max_bytes: int) -> npt.NDArray[np.int64]:
    """How many bytes of each document belong to the sample, int64 [N].

    Documents are taken in the order of their places until the sample is full; the last one is cut. A larger
    sample of the same documents holds the smaller one.

    Args:
        places: of each document (`place`).
        sizes: bytes of each document.
        max_bytes: of the sample.
    """
    length = np.array(sizes, np.int64)
    order = np.argsort(np.array(places, np.uint64), kind="stable")
    before = np.cumsum(length[order]) - length[order]
    taken = np.empty_like(length)
    taken[order] = np.clip(max_bytes - before, 0, length[order])
    return taken


def cut(text: bytes, size: int) -> str:
    """The first bytes of a UTF-8 text, without the part of a character at their end."""
    return text.decode("utf-8", "replace") if size >= len(text) else text[:size].decode("utf-8", "ignore")
