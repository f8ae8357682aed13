"""Packing of documents into rows of one length, with labels that never cross a document's end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from preprocessing.training_document import TrainingDocument

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
        weights: float32; 1 where the label is learned, 0 where it is not, at a document's last id and in
            padding.
    """

    ids: np.ndarray
    positions: np.ndarray
    segment_ids: np.ndarray
    labels: np.ndarray
    weights: np.ndarray


def pack(
    documents: Iterable[TrainingDocument | np.ndarray],
    length: int,
    *,
    end_id: int,
    begin_id: int | None = None,
    special_ids: frozenset[int] = frozenset(),
) -> Iterator[PackedRow]:
    """Put documents one after the other and cut the stream into rows.

    A document that does not fit goes on in the next row as a segment of its own; every id but a
    document's first is the label of exactly one position. The last row is padded.

    Args:
        documents: of plain text the ids are enough, 1-D; may be endless.
        length: T, positions of a row.
        end_id: put after each plain text, and learned; see `TrainingDocument.framed`.
        begin_id: put before each plain text, if given.
        special_ids: ids of special tokens.
    """
    pieces: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    filled = 0
    for document in documents:
        if isinstance(document, np.ndarray):
            document = TrainingDocument(document)
        framed = document.framed(end_id, begin_id, special_ids)
        for piece in _pieces(*framed, length, filled):
            pieces.append(piece)
            filled += len(piece[0])
            if filled == length:
                yield _row(pieces, length)
                pieces, filled = [], 0
    if pieces:
        yield _row(pieces, length)


Document = TypeVar("Document", TrainingDocument, np.ndarray)


def shuffled(
    documents: Sequence[Document], seed: int, weights: np.ndarray | None = None
) -> Iterator[Document]:
    """The documents again and again, each time in another order that only the seed decides.

    Args:
        documents: all of them.
        seed: of the orders.
        weights: how often each is drawn per pass, float64 [N], above 0; once if not given. After any
            number of passes a document has been drawn that often times its weight, rounded down or up;
            weights all below 1 count in relation to the largest.
    """
    weights = np.ones(len(documents)) if weights is None else pass_weights(weights)
    shift = _shifts(weights, seed)
    epoch = 0
    while len(documents):
        drawn = np.floor(weights * (epoch + 1) + shift) - np.floor(weights * epoch + shift)
        indices = np.repeat(np.arange(len(documents)), drawn.astype(np.int64))
        for index in indices[np.random.default_rng([seed, epoch]).permutation(len(indices))]:
            yield documents[index]
        epoch += 1


def pass_weights(weights: np.ndarray) -> np.ndarray:
    """How often each document is drawn per pass: the weights, raised to a largest of 1 if all are below."""
    return weights / min(1.0, weights.max()) if len(weights) else weights


def _shifts(weights: np.ndarray, seed: int) -> np.ndarray:
    """Where in [0, 1) each document begins to count, spread evenly over those of the same weight."""
    shifts = np.empty(len(weights))
    for number, weight in enumerate(np.unique(weights)):
        same = np.flatnonzero(weights == weight)
        order = np.random.default_rng([seed, number, len(same)]).permutation(len(same))
        shifts[same] = (order + 0.5) / len(same)
    return shifts


def _pieces(
    ids: np.ndarray, learned: np.ndarray, length: int, filled: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Cut a document at the row ends: ids, labels and weights of each piece."""
    labels = np.append(ids[1:], np.int32(0))
    weights = np.append(learned[1:], False).astype(np.float32)
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
