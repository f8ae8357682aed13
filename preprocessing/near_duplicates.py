"""NearDuplicates: finds documents of nearly the same text among many, by MinHash and banding."""

from __future__ import annotations

import tempfile
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import numpy.typing as npt
from datasketch import MinHash, MinHashLSH

from preprocessing.disjoint_sets import DisjointSets
from preprocessing.near_duplicate_config import NearDuplicateConfig
from preprocessing.shingles import shingles

Signature = npt.NDArray[np.uint32]

_CHUNK = 4096
"""Shingles hashed at once: permutations × 4 bytes × this are in memory."""

_MISS_WEIGHT = 0.9
"""Bands are chosen to miss few pairs; those that they find in vain are compared and put away."""

_ALL_PAIRS = 32
"""In a larger bucket a document is compared with the bucket's first and its own predecessor only."""


@dataclass(frozen=True, slots=True)
class NearDuplicateResult:
    """What was found.

    Args:
        documents: how many were looked at.
        duplicates: key of each document that has an earlier near-duplicate → the first of its cluster.
        dropped: keys to leave out: those of `duplicates`, or none if they are only reported.
    """

    documents: int = 0
    duplicates: dict[Hashable, Hashable] = field(default_factory=dict)
    dropped: frozenset[Hashable] = frozenset()

    @property
    def clusters(self) -> int:
        """Groups of near-duplicates."""
        return len(set(self.duplicates.values()))


class NearDuplicates:
    """Fed one document at a time; keeps a key and a signature of each, the signatures on disk.

    A signature is datasketch's MinHash (Broder 1997) over the shingles. Documents whose signatures agree
    in a whole band (Leskovec et al., Mining of Massive Datasets, 3.4; datasketch chooses the bands) are
    compared by signature; similar ones are joined into clusters. Which documents are found depends on
    texts, order and configuration alone.

    Args:
        config: with `action: off` texts are ignored.
    """

    def __init__(self, config: NearDuplicateConfig) -> None:
        self._config = config
        self._keys: list[Hashable] = []
        self._count = 0
        self._file = tempfile.TemporaryFile(prefix="tokenmill-signatures-")  # noqa: SIM115
        self._empty = MinHash(config.permutations, config.seed, hashfunc=int, scheme="affine32")

    def add(self, key: Hashable, text: str) -> None:
        """Take a document in.

        Args:
            key: names it in the result.
            text: all of it; texts without words and signs are nobody's duplicate.
        """
        if self._config.action == "off":
            return
        self._count += 1
        signature = self._sign(text)
        if signature is not None:
            self._keys.append(key)
            self._file.write(signature.tobytes())

    def result(self) -> NearDuplicateResult:
        """Clusters among all documents taken in; of each the first is kept."""
        if not self._keys:
            return NearDuplicateResult(self._count)
        self._file.flush()
        shape = (len(self._keys), self._config.permutations)
        signatures = np.memmap(self._file, np.uint32, "r", shape=shape)
        sets = DisjointSets(len(self._keys))
        for first, second in self._similar(signatures):
            sets.join(first, second)
        duplicates = {self._keys[i]: self._keys[sets.first(i)] for i in sets.followers()}
        dropped = frozenset(duplicates) if self._config.action == "drop" else frozenset()
        return NearDuplicateResult(self._count, duplicates, dropped)

    def _sign(self, text: str) -> Signature | None:
        hashes = (shingles(text, self._config.shingle) >> np.uint64(32)).astype(np.uint32)
        if not len(hashes):
            return None
        sketch = self._empty.copy()
        for start in range(0, len(hashes), _CHUNK):
            sketch.update_batch(hashes[start : start + _CHUNK].tolist())
        return sketch.hashvalues.astype(np.uint32)

    def _similar(self, signatures: Signature) -> Iterator[tuple[int, int]]:
        bands, rows = _bands(self._config.threshold, self._config.permutations)
        for band in range(bands):
            columns = np.ascontiguousarray(signatures[:, band * rows : (band + 1) * rows])
            for bucket in _buckets(columns):
                pairs = _pairs(bucket)
                agree = (signatures[pairs[:, 0]] == signatures[pairs[:, 1]]).mean(axis=1)
                yield from map(tuple, pairs[agree >= self._config.threshold].tolist())


@cache
def _bands(threshold: float, permutations: int) -> tuple[int, int]:
    """Bands and rows per band."""
    weights = (1 - _MISS_WEIGHT, _MISS_WEIGHT)
    lsh = MinHashLSH(threshold, permutations, weights=weights)
    return lsh.b, lsh.r


def _buckets(columns: Signature) -> Iterator[npt.NDArray[np.int64]]:
    """Groups of at least two rows that are equal, as ascending row numbers."""
    as_bytes = columns.view(np.dtype((np.void, columns.shape[1] * columns.itemsize)))[:, 0]
    order = np.argsort(as_bytes, kind="stable")
    same = as_bytes[order[1:]] == as_bytes[order[:-1]]
    for bucket in np.split(order, np.flatnonzero(~same) + 1):
        if len(bucket) > 1:
            yield bucket


def _pairs(bucket: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Pairs of a bucket to compare, [P, 2]."""
    if len(bucket) <= _ALL_PAIRS:
        return np.stack([bucket[side] for side in np.triu_indices(len(bucket), 1)], axis=1)
    with_first = np.stack([np.full(len(bucket) - 1, bucket[0]), bucket[1:]], axis=1)
    return np.concatenate([with_first, np.stack([bucket[:-1], bucket[1:]], axis=1)])
