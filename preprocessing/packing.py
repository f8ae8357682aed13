"""Packing of documents into rows of one length, with labels that never cross a document's end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

PAD_SEGMENT = -1
"""Segment of padded positions: no document's."""


@dataclass(frozen=True, slots=True)
class PackedRow:
    """One row of T positions; all arrays are [T].

    Args:
        ids: int32; padded positions hold 0.
        positions: int32; from 0 within each segment.
        segment_ids: int32; one per document in the row, PAD_SEGMENT for padding.
        labels: int32; the id that follows in the same document, also if it lies in the next row.
        weights: float32; 1 where there is a label, 0 at a document's last id and in padding.
    """

    ids: np.ndarray
    positions: np.ndarray
    segment_ids: np.ndarray
    labels: np.ndarray
    weights: np.ndarray


def pack(
    documents: Iterable[np.ndarray], length: int, *, end_id: int, begin_id: int | None = None
) -> Iterator[PackedRow]:
    """Put documents one after the other and cut the stream into rows.

    A document that does not fit goes on in the next row as a segment of its own; every id but a
    document's first is the label of exactly one position. The last row is padded.

    Args:
        documents: ids of each, 1-D; may be endless.
        length: T, positions of a row.
        end_id: put after each document, and learned.
        begin_id: put before each document, if given.
    """
    pieces: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    filled = 0
    for document in documents:
        for piece in _pieces(_framed(document, end_id, begin_id), length, filled):
            pieces.append(piece)
            filled += len(piece[0])
            if filled == length:
                yield _row(pieces, length)
                pieces, filled = [], 0
    if pieces:
        yield _row(pieces, length)


def shuffled(documents: Sequence[np.ndarray], seed: int) -> Iterator[np.ndarray]:
    """All documents again and again, each time in another order that only the seed decides."""
    epoch = 0
    while documents:
        for index in np.random.default_rng([seed, epoch]).permutation(len(documents)):
            yield documents[index]
        epoch += 1


def _framed(document: np.ndarray, end_id: int, begin_id: int | None) -> np.ndarray:
    begin = [] if begin_id is None else [begin_id]
    return np.concatenate([begin, document, [end_id]]).astype(np.int32)


def _pieces(ids: np.ndarray, length: int, filled: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Cut a document at the row ends: ids, labels and weights of each piece."""
    labels = np.append(ids[1:], np.int32(0))
    weights = np.ones(len(ids), np.float32)
    weights[-1] = 0
    start = 0
    while start < len(ids):
        stop = start + length - filled
        yield ids[start:stop], labels[start:stop], weights[start:stop]
        start, filled = stop, 0


def _row(pieces: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], length: int) -> PackedRow:
    sizes = [len(ids) for ids, _, _ in pieces]
    padding = length - sum(sizes)
    segments = np.repeat(np.arange(len(pieces)), sizes)
    positions = np.concatenate([np.arange(size) for size in [*sizes, padding]])

    def padded(arrays: list[np.ndarray], fill: int = 0) -> np.ndarray:
        return np.pad(np.concatenate(arrays), (0, padding), constant_values=fill)

    return PackedRow(
        ids=padded([ids for ids, _, _ in pieces]),
        positions=positions.astype(np.int32),
        segment_ids=padded([segments.astype(np.int32)], PAD_SEGMENT),
        labels=padded([labels for _, labels, _ in pieces]),
        weights=padded([weights for _, _, weights in pieces]),
    )
