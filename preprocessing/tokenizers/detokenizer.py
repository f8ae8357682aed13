"""Detokenizer: ids to text, whole or in pieces, as graph operations."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from preprocessing.tokenizers.graph_constant import graph_constant
from preprocessing.tokenizers.sentencepiece_spec import TextStart

TEXT_START = b"\xff"
"""What a stream holds back while no text stands before its next id; no byte of UTF-8, so never text."""

_LONGEST_HELD = 3
"""Bytes of the longest incomplete UTF-8 sequence."""


class Detokenizer(tf.Module):
    """Looks up the bytes of ids.

    Args:
        token_bytes: bytes of ids 0 … n − 1; other ids have none.
        start: how the first ids of a text are read; None if as any other.
    """

    def __init__(self, token_bytes: list[bytes], start: TextStart | None = None) -> None:
        super().__init__()
        first = [] if start is None else [*start.first_bytes, b""]
        self._table = graph_constant([*token_bytes, b"", *first])
        self._begins = None if start is None else graph_constant(np.array([*start.begins, False]))
        self._size = len(token_bytes)

    @property
    def stream_start(self) -> bytes:
        """What a stream that begins a text holds back before its first ids."""
        return b"" if self._begins is None else TEXT_START

    def decode(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """[B] string, UTF-8; incomplete or wrong sequences become U+FFFD as in Python's "replace"."""
        if self._begins is None:
            return self.decode_continuation(ids)
        joined, _ = self._join_first(ids, tf.fill([ids.nrows()], True))
        return _replace(joined)

    def decode_continuation(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """As `decode`, of ids that text stands before."""
        return _replace(self._join(ids, self._index(ids)))

    def decode_stream(
        self, pending: tf.Tensor, ids: tf.RaggedTensor, final: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Text that is safe to send, and what is held back: see GraphTokenizer.decode_stream."""
        if self._begins is None:
            return _cut(tf.strings.join([pending, self._join(ids, self._index(ids))]), final)
        waiting = pending == TEXT_START
        joined, begun = self._join_first(ids, waiting)
        text, rest = _cut(tf.strings.join([tf.where(waiting, b"", pending), joined]), final)
        return text, tf.where(waiting & ~begun & ~final, TEXT_START, rest)

    def _join_first(self, ids: tf.RaggedTensor, waiting: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The bytes of rows of which some begin a text, and which of all rows hold text now.

        Args:
            ids: [B, None] int32.
            waiting: [B] bool, whether no text stands before the row's first id.
        """
        index, rows = self._index(ids), ids.value_rowids()
        place = tf.range(tf.size(index))
        begins = tf.gather(self._begins, index)
        never = tf.int32.max
        begin = tf.math.unsorted_segment_min(tf.where(begins, place, never), rows, ids.nrows())
        at_start = tf.gather(waiting, rows) & (place <= tf.gather(begin, rows))
        shifted = tf.where(at_start, index + self._size + 1, index)
        return self._join(ids, shifted), ~waiting | (begin < never)

    def _index(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """[n] int32: the table's row of each id."""
        return tf.where((ids.values >= 0) & (ids.values < self._size), ids.values, self._size)

    def _join(self, ids: tf.RaggedTensor, index: tf.Tensor) -> tf.Tensor:
        return tf.strings.reduce_join(ids.with_values(tf.gather(self._table, index)), axis=-1)


def _cut(joined: tf.Tensor, final: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Text that stays true whatever follows, and the bytes behind it."""
    held = tf.where(final, 0, _incomplete_tail(joined))
    safe = tf.strings.length(joined) - held
    text = _replace(tf.strings.substr(joined, tf.zeros_like(safe), safe))
    return text, tf.strings.substr(joined, safe, held)


def _replace(raw: tf.Tensor) -> tf.Tensor:
    return tf.strings.unicode_transcode(raw, "UTF-8", "UTF-8", errors="replace")


def _incomplete_tail(raw: tf.Tensor) -> tf.Tensor:
    """[B] int32: length 0 … 3 of a trailing sequence that is valid so far but not complete.

    After the table of well-formed sequences in the Unicode Standard (chapter 3, table 3-7), but half
    a surrogate (0xED with 0xA0 … 0xBF) waits for its third byte as in Python's incremental decoder.
    """
    padded = tf.strings.join([" " * _LONGEST_HELD, raw])
    length = tf.strings.length(padded)
    tail = tf.strings.substr(padded, length - _LONGEST_HELD, tf.fill(tf.shape(length), _LONGEST_HELD))
    last = tf.cast(tf.io.decode_raw(tail, tf.uint8, fixed_length=_LONGEST_HELD), tf.int32)
    third, second, first = last[:, 0], last[:, 1], last[:, 2]
    one = _between(first, 0xC2, 0xF4)
    two = _between(second, 0xE0, 0xF4) & _follows(second, first)
    three = _between(third, 0xF0, 0xF4) & _follows(third, second) & _between(first, 0x80, 0xBF)
    return tf.where(one, 1, tf.where(two, 2, tf.where(three, 3, 0)))


def _follows(lead: tf.Tensor, byte: tf.Tensor) -> tf.Tensor:
    """Whether `byte` may be the second byte after `lead`."""
    low = tf.where(lead == 0xE0, 0xA0, tf.where(lead == 0xF0, 0x90, 0x80))
    high = tf.where(lead == 0xF4, 0x8F, 0xBF)
    return _between(byte, low, high)


def _between(value: tf.Tensor, low: int | tf.Tensor, high: int | tf.Tensor) -> tf.Tensor:
    return (value >= low) & (value <= high)
