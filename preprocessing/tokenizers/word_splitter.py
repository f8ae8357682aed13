"""WordSplitter: the split of text into words, as graph operations.

Whether a word starts at a character follows, but for few places, from the classes of the characters
around it, so the whole split is a few gathers. TF Text's regex_split is no way to the same end: its
RE2 follows another Unicode version, knows no lookahead and drops what follows a NUL byte.
"""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf

from preprocessing.tokenizers.character_classes import character_classes
from preprocessing.tokenizers.code_point_table import code_point_table, look_up
from preprocessing.tokenizers.graph_constant import graph_constant
from preprocessing.tokenizers.nfc_normalizer import NfcNormalizer
from preprocessing.tokenizers.special_matcher import SpecialMatcher, SpecialMatches
from preprocessing.tokenizers.word_pattern import WordPattern
from preprocessing.tokenizers.word_starts import WordStarts, mark

REPLACEMENT = 0xFFFD


@dataclass(frozen=True)
class Words:
    """Words of a batch of texts.

    Args:
        text: [W] string, UTF-8; empty where the word is an added token.
        row_splits: [B + 1] int64, which words belong to which text.
        special_id: [W] int32, id of the added token or −1; None if none were looked for.
    """

    text: tf.Tensor
    row_splits: tf.Tensor
    special_id: tf.Tensor | None


class WordSplitter(tf.Module):
    """Splits texts into words exactly as Hugging Face's pre-tokenizers do.

    Args:
        pattern: how text is split.
        nfc: whether text is brought into normalisation form C first.
    """

    def __init__(self, pattern: WordPattern, nfc: bool = False) -> None:
        super().__init__()
        self._classes = tuple(map(graph_constant, code_point_table(character_classes(pattern))))
        self._starts = WordStarts(pattern)
        self._normalizer = NfcNormalizer() if nfc else None

    def split(self, text: tf.Tensor, matcher: SpecialMatcher | None = None) -> Words:
        """Split texts.

        Args:
            text: [B] string, any bytes; what is not UTF-8 becomes U+FFFD as in Python's "replace".
            matcher: finds added tokens, which become words of their own.
        """
        decoded = tf.strings.unicode_decode(text, "UTF-8", errors="replace", replacement_char=REPLACEMENT)
        points, rows = decoded.values, decoded.row_splits
        matches = matcher.find(points, rows) if matcher else None
        if self._normalizer:
            points, rows, matches = _normalized(self._normalizer, points, rows, matches)
        edges = mark(tf.zeros([tf.size(points) + 1], tf.bool), rows)
        if matches is not None:
            edges = mark(edges, tf.concat([matches.start, matches.end], 0))
        is_start = self._starts.find(points, look_up(*self._classes, points), edges)
        if matches is not None:
            is_start &= (edges | ~_inside(matches, tf.size(edges)))[:-1]
        starts = tf.where(is_start)[:, 0]
        splits = tf.concat([starts, [tf.size(points, tf.int64)]], 0)
        words = tf.RaggedTensor.from_row_splits(points, splits, validate=False)
        words = tf.strings.unicode_encode(words, "UTF-8")
        row_splits = tf.searchsorted(starts, rows, out_type=tf.int64)
        return _with_specials(words, row_splits, starts, matches)


def _normalized(
    normalizer: NfcNormalizer, points: tf.Tensor, rows: tf.Tensor, matches: SpecialMatches | None
) -> tuple[tf.Tensor, tf.Tensor, SpecialMatches | None]:
    """Code points, rows and matches after normalising what stands between the matches."""
    cuts = rows
    if matches is not None:
        cuts = tf.sort(tf.concat([rows, matches.start, matches.end], 0))
    normal = normalizer.normalize(tf.RaggedTensor.from_row_splits(points, cuts, validate=False))
    if matches is None:
        return normal.values, normal.row_splits, None

    def moved(places: tf.Tensor) -> tf.Tensor:
        return tf.gather(normal.row_splits, tf.searchsorted(cuts, places))

    matches = SpecialMatches(moved(matches.start), moved(matches.end), matches.id)
    return normal.values, moved(rows), matches


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
