"""WordSplitter: GPT-2's split of text into words, as graph operations.

The pattern `'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+` looks at most
one character to each side: whether a word starts at a character follows from its class and those of
its neighbours, but for contractions, which only an apostrophe at a word's start begins. So the
whole split is a few gathers. TF Text's regex_split is no way to the same end: its RE2 follows
another Unicode version and it drops what follows a NUL byte.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from preprocessing.tokenizers.character_classes import CharacterClass, character_classes
from preprocessing.tokenizers.graph_constant import graph_constant
from preprocessing.tokenizers.special_matcher import SpecialMatcher, SpecialMatches

REPLACEMENT = 0xFFFD
_PAGE_BITS = 8
_PAGE = 1 << _PAGE_BITS
_CLASSES = len(CharacterClass)


@dataclass(frozen=True)
class Words:
    """Words of a batch of texts.

    Args:
        text: [W] string, UTF-8; empty where the word is a special token.
        row_splits: [B + 1] int64, which words belong to which text.
        special_id: [W] int32, id of the special token or −1; None if none were looked for.
    """

    text: tf.Tensor
    row_splits: tf.Tensor
    special_id: tf.Tensor | None


class WordSplitter(tf.Module):
    """Splits texts into words exactly as Hugging Face's ByteLevel pre-tokenizer does.

    Args:
        individual_digits: numeric characters are words of their own, split off beforehand.
    """

    def __init__(self, individual_digits: bool) -> None:
        super().__init__()
        pages = [page.tobytes() for page in character_classes(individual_digits).reshape(-1, _PAGE)]
        offset = {page: index * _PAGE for index, page in enumerate(dict.fromkeys(pages))}
        self._page = graph_constant(np.array([offset[page] for page in pages], np.int32))
        self._class = graph_constant(np.frombuffer(b"".join(offset), np.uint8))
        self._starts = graph_constant(_start_table())

    def split(self, text: tf.Tensor, matcher: SpecialMatcher | None = None) -> Words:
        """Split texts.

        Args:
            text: [B] string, any bytes; what is not UTF-8 becomes U+FFFD as in Python's "replace".
            matcher: finds special tokens, which become words of their own.
        """
        decoded = tf.strings.unicode_decode(text, "UTF-8", errors="replace", replacement_char=REPLACEMENT)
        points, rows = decoded.values, decoded.row_splits
        edges = _mark(tf.zeros([tf.size(points) + 1], tf.bool), rows)
        matches = matcher.find(points, rows) if matcher else None
        if matches is not None:
            edges = _mark(edges, tf.concat([matches.start, matches.end], 0))
        is_start = self._word_starts(points, edges)
        if matches is not None:
            is_start &= edges | ~_inside(matches, tf.size(edges))
        starts = tf.where(is_start[:-1])[:, 0]
        splits = tf.concat([starts, [tf.size(points, tf.int64)]], 0)
        words = tf.RaggedTensor.from_row_splits(points, splits, validate=False)
        words = tf.strings.unicode_encode(words, "UTF-8")
        row_splits = tf.searchsorted(starts, rows, out_type=tf.int64)
        return _with_specials(words, row_splits, starts, matches)

    def _word_starts(self, points: tf.Tensor, edges: tf.Tensor) -> tf.Tensor:
        """[n + 1] bool: whether a word starts before each code point; the last entry says nothing."""
        page = tf.gather(self._page, tf.bitwise.right_shift(points, _PAGE_BITS))
        kinds = tf.gather(self._class, page + tf.bitwise.bitwise_and(points, _PAGE - 1))
        edge = tf.constant([CharacterClass.EDGE], tf.uint8)
        before = tf.concat([edge, kinds], 0)[:-1]
        after = tf.concat([kinds, edge], 0)[1:]
        before = tf.where(edges[:-1] | (before == CharacterClass.DIGIT), edge, before)
        after = tf.where(edges[1:] | (after == CharacterClass.DIGIT), edge, after)
        code = (tf.cast(before, tf.int32) * _CLASSES + tf.cast(kinds, tf.int32)) * _CLASSES
        starts = tf.gather(self._starts, code + tf.cast(after, tf.int32))
        apostrophe = starts & (kinds == CharacterClass.APOSTROPHE) & (after == CharacterClass.LETTER)
        return _with_contractions(starts, points, edges, tf.where(apostrophe)[:, 0])


def _start_table() -> np.ndarray:
    """bool [8·8·8]: whether a word starts at a character, by (class before, its class, class after)."""
    white = (CharacterClass.WHITE_SPACE, CharacterClass.SPACE)
    table = np.zeros([_CLASSES] * 3, bool)
    for before, kind, after in np.ndindex(table.shape):
        if before == CharacterClass.EDGE or kind == CharacterClass.DIGIT:
            start = True
        elif kind in white:  # `\s+(?!\S)` leaves the last white space before a word to what follows
            start = before not in white or (after != CharacterClass.EDGE and after not in white)
        else:
            start = _run(before) != _run(kind) and before != CharacterClass.SPACE
        table[before, kind, after] = start
    return table.reshape(-1)


def _run(kind: int) -> int:
    """An apostrophe that begins no contraction is a character like any other."""
    return CharacterClass.OTHER if kind == CharacterClass.APOSTROPHE else kind


def _with_contractions(
    starts: tf.Tensor, points: tf.Tensor, edges: tf.Tensor, apostrophes: tf.Tensor
) -> tf.Tensor:
    """Join `'s 't 'm 'd 're 've 'll` to one word; a new word starts after each.

    `apostrophes` [A] int64 start a word and have a letter of the same text after them.
    """
    count = tf.size(points, tf.int64)
    starts = tf.concat([starts, [True]], 0)
    first = tf.gather(points, apostrophes + 1)
    at_second = tf.minimum(apostrophes + 2, count - 1)
    has_second = (apostrophes + 2 < count) & ~tf.gather(edges, at_second)
    second = tf.where(has_second, tf.gather(points, at_second), 0)
    one = tf.reduce_any(first[:, None] == [ord(letter) for letter in "stmd"], 1)
    pair = (first[:, None] == [ord(letter) for letter in "rvl"]) & (
        second[:, None] == [ord(letter) for letter in "eel"]
    )
    two = tf.reduce_any(pair, 1)
    joined = tf.boolean_mask(apostrophes, one | two) + 1
    after = tf.concat([tf.boolean_mask(apostrophes, one) + 2, tf.boolean_mask(apostrophes, two) + 3], 0)
    starts = tf.tensor_scatter_nd_update(starts, joined[:, None], tf.zeros_like(joined, tf.bool))
    return _mark(starts, after)


def _mark(flags: tf.Tensor, positions: tf.Tensor) -> tf.Tensor:
    return tf.tensor_scatter_nd_update(flags, positions[:, None], tf.ones_like(positions, tf.bool))


def _inside(matches: SpecialMatches, size: tf.Tensor) -> tf.Tensor:
    """[size] bool: positions covered by a match."""
    at = tf.concat([matches.start, matches.end], 0)[:, None]
    step = tf.concat([tf.ones_like(matches.id), -tf.ones_like(matches.id)], 0)
    return tf.cumsum(tf.tensor_scatter_nd_add(tf.zeros([size], tf.int32), at, step)) > 0


def _with_specials(
    words: tf.Tensor, row_splits: tf.Tensor, starts: tf.Tensor, matches: SpecialMatches | None
) -> Words:
    if matches is None:
        return Words(words, row_splits, None)
    at = tf.searchsorted(starts, matches.start)[:, None]
    ids = tf.tensor_scatter_nd_update(tf.fill([tf.size(words)], -1), at, matches.id)
    return Words(tf.where(ids >= 0, "", words), row_splits, ids)
