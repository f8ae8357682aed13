"""WordStarts: where the words of a pattern start, as graph operations."""

from __future__ import annotations

import tensorflow as tf

from preprocessing.tokenizers.character_classes import CharacterClass
from preprocessing.tokenizers.graph_constant import graph_constant
from preprocessing.tokenizers.start_tables import start_table
from preprocessing.tokenizers.word_pattern import WordPattern

_CLASSES = len(CharacterClass)
_LONG_S = 0x17F
"""The one character beside the ASCII letters that `(?i:'s|'t|'re|'ve|'m|'ll|'d)` takes for one of them."""

_CASE_BIT = 0x20
_NUMBER_LENGTH = 3


class WordStarts(tf.Module):
    """Reads starts from a table of classes and corrects the few places that need more than it holds.

    Args:
        pattern: how text is split into words.
    """

    def __init__(self, pattern: WordPattern) -> None:
        super().__init__()
        table = start_table(pattern)
        self._by_line = table.ndim == 4
        self._cuts_numbers = pattern == WordPattern.LLAMA3
        self._table = graph_constant(table.reshape(-1))

    def find(self, points: tf.Tensor, kinds: tf.Tensor, edges: tf.Tensor) -> tf.Tensor:
        """Find them.

        Args:
            points: [n] int32 code points of all texts.
            kinds: [n] uint8 their CharacterClass.
            edges: [n + 1] bool, whether a text starts or ends before each code point.

        Returns:
            [n] bool, whether a word starts before each code point.
        """
        edge = tf.constant([CharacterClass.EDGE], tf.uint8)
        before = tf.where(edges[:-1], edge, tf.concat([edge, kinds], 0)[:-1])
        after = tf.where(edges[1:], edge, tf.concat([kinds, edge], 0)[1:])
        starts = tf.gather(self._table, self._codes(before, kinds, after))
        if self._by_line:
            starts = _after_line_ends(starts, kinds, before, after)
        if self._cuts_numbers:
            starts = _cut_numbers(starts, kinds)
        apostrophe = starts & (kinds == CharacterClass.APOSTROPHE) & (after == CharacterClass.LETTER)
        return self._with_contractions(starts, points, edges, tf.where(apostrophe)[:, 0])

    def _codes(self, before: tf.Tensor, kinds: tf.Tensor, after: tf.Tensor) -> tf.Tensor:
        """[n] int32 places in the table."""
        pair = tf.cast(before, tf.int32) * _CLASSES + tf.cast(kinds, tf.int32)
        codes = pair * _CLASSES + tf.cast(after, tf.int32)
        if not self._by_line:
            return codes
        second = tf.concat([[CharacterClass.EDGE], tf.cast(before, tf.int32)], 0)[:-1]
        return second * _CLASSES**3 + codes

    def _with_contractions(
        self, starts: tf.Tensor, points: tf.Tensor, edges: tf.Tensor, apostrophes: tf.Tensor
    ) -> tf.Tensor:
        """Join `'s 't 'm 'd 're 've 'll` to one word; a new word starts after each.

        `apostrophes` [A] int64 start a word and have a letter of the same text after them.
        """
        count = tf.size(points, tf.int64)
        starts = tf.concat([starts, [True]], 0)
        first = self._folded(tf.gather(points, apostrophes + 1))
        at_second = tf.minimum(apostrophes + 2, count - 1)
        has_second = (apostrophes + 2 < count) & ~tf.gather(edges, at_second)
        second = self._folded(tf.where(has_second, tf.gather(points, at_second), 0))
        one = tf.reduce_any(first[:, None] == [ord(letter) for letter in "stmd"], 1)
        pair = (first[:, None] == [ord(letter) for letter in "rvl"]) & (
            second[:, None] == [ord(letter) for letter in "eel"]
        )
        two = tf.reduce_any(pair, 1)
        starts = mark(starts, tf.boolean_mask(apostrophes, one | two) + 1, False)
        after = [tf.boolean_mask(apostrophes, one) + 2, tf.boolean_mask(apostrophes, two) + 3]
        return mark(starts, tf.concat(after, 0))[:-1]

    def _folded(self, points: tf.Tensor) -> tf.Tensor:
        """Capital letters as small ones, where the pattern takes both."""
        if not self._by_line:
            return points
        return tf.where(points == _LONG_S, ord("s"), tf.bitwise.bitwise_or(points, _CASE_BIT))


def mark(flags: tf.Tensor, positions: tf.Tensor, value: bool = True) -> tf.Tensor:
    """Set flags [n] bool at positions [m] int64."""
    return tf.tensor_scatter_nd_update(flags, positions[:, None], tf.fill(tf.shape(positions), value))


def _after_line_ends(starts: tf.Tensor, kinds: tf.Tensor, before: tf.Tensor, after: tf.Tensor) -> tf.Tensor:
    """White space after a line end belongs to `\\s*[\\r\\n]+` if another line end follows it.

    Unless the line ends before it belong to the signs before them, by `[^\\s\\p{L}\\p{N}]+[\\r\\n]*`.
    """
    line_end = kinds == CharacterClass.LINE_END
    at = tf.where(_blank(kinds) & (before == CharacterClass.LINE_END))[:, 0]
    last = tf.where(_blank(kinds) & ~_blank(after))[:, 0]
    next_kind = tf.gather(after, tf.gather(last, tf.searchsorted(last, at)))
    first = tf.where(line_end & (before != CharacterClass.LINE_END))[:, 0]
    run = tf.gather(first, tf.searchsorted(first, at, side="right") - 1)
    previous = tf.gather(before, run)
    of_signs = (previous == CharacterClass.OTHER) | (previous == CharacterClass.APOSTROPHE)
    return mark(starts, tf.boolean_mask(at, (next_kind == CharacterClass.LINE_END) & ~of_signs), False)


def _blank(kinds: tf.Tensor) -> tf.Tensor:
    return (kinds == CharacterClass.WHITE_SPACE) | (kinds == CharacterClass.SPACE)


def _cut_numbers(starts: tf.Tensor, kinds: tf.Tensor) -> tf.Tensor:
    """`\\p{N}{1,3}`: a word starts at every third character of a run of numeric ones."""
    at = tf.where(kinds == CharacterClass.NUMBER)[:, 0]
    is_first = tf.gather(starts, at)
    run = tf.cumsum(tf.cast(is_first, tf.int64)) - 1
    within = at - tf.gather(tf.boolean_mask(at, is_first), run)
    return mark(starts, tf.boolean_mask(at, within % _NUMBER_LENGTH == 0))
