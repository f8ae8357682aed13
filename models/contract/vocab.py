"""`vocab.bin`: the id → bytes table that lets the engine detokenize without TensorFlow.

Layout, little endian: magic `TMV1`, uint32 count n, n + 1 uint32 offsets, then the bytes of all
ids one after the other. Ids without text (holes of the vocabulary) have no bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from models.contract.errors import PackageError

_MAGIC = b"TMV1"


def write_vocab(path: Path, tokens: Sequence[bytes]) -> None:
    """Write the bytes of ids 0 … n−1."""
    offsets = [0]
    for token in tokens:
        offsets.append(offsets[-1] + len(token))
    header = _MAGIC + struct.pack(f"<I{len(offsets)}I", len(tokens), *offsets)
    path.write_bytes(header + b"".join(tokens))


def read_vocab(path: Path) -> list[bytes]:
    """Read the bytes of ids 0 … n−1.

    Raises:
        PackageError: the file is missing or is not such a table.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise PackageError(
            f"{path}: cannot read the vocabulary: {error.strerror}.", field=str(path)
        ) from error
    broken = PackageError(
        f"{path}: not a vocabulary table.", field=str(path), remedy="Export the package again."
    )
    if raw[:4] != _MAGIC or len(raw) < 8:
        raise broken
    (count,) = struct.unpack_from("<I", raw, 4)
    start = 8 + 4 * (count + 1)
    if len(raw) < start:
        raise broken
    offsets = struct.unpack_from(f"<{count + 1}I", raw, 8)
    if len(raw) != start + offsets[-1] or any(a > b for a, b in pairwise(offsets)):
        raise broken
    return [raw[start + a : start + b] for a, b in pairwise(offsets)]
