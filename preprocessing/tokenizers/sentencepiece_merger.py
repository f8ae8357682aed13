"""SentencepieceMerger: merges the bytes of words to token ids with TF Text's SentencePiece operation."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import tensorflow as tf

from preprocessing.tokenizers.byte_alphabet import BYTE_LETTERS, LETTER_SET
from preprocessing.tokenizers.graph_constant import graph_constant
from preprocessing.tokenizers.merge_rules import made_tokens
from preprocessing.tokenizers.sentencepiece_model import BEGIN, END, sentencepiece_model
from preprocessing.tokenizers.sentencepiece_operation import SentencepieceOperation
from preprocessing.tokenizers.tokenizer_spec import TokenizerSpec
from preprocessing.tokenizers.whole_words import NONE, WholeWords

_WORDS_PER_STRING = 16
"""A call for a string costs microseconds whatever its length, so words share strings."""

_FREQUENT = 8192
"""As many tokens, the first that training made, are pieces with the marks of a word around them, taken
before anything is merged: a quarter of the distinct words of most texts, a fifth of the time."""

_LARGE = 1 << 16
"""From so many ids on a look-up of words that are tokens costs less than such pieces; below, more."""


class SentencepieceMerger(tf.Module):
    """Merges by concatenation, which gives the ids of merging by rule: see `merge_rules`.

    Args:
        spec: of kind byte-level BPE. Bytes without a token are dropped before merging, as Hugging
            Face tokenizers does without an unknown token.
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__()
        made = made_tokens(spec.vocab, spec.merges)
        is_large = spec.vocab_size > _LARGE
        self._whole_words = WholeWords(spec.vocab, made) if is_large else None
        frequent = [] if is_large else made[:_FREQUENT]
        whole = [*frequent, *(_never_made(spec, made) if spec.ignore_merges else [])]
        self._begin = BEGIN if whole else ""
        model = sentencepiece_model(spec.vocab, made, whole, spec.vocab_size)
        self._model = SentencepieceOperation(model)
        self._letter = graph_constant(np.array([ord(letter) for letter in BYTE_LETTERS], np.int32))
        known = np.array([letter in spec.vocab for letter in BYTE_LETTERS])
        self._known = None if known.all() else graph_constant(known)
        self._end_id = spec.vocab_size + 1
        self._first_mark = spec.vocab_size
        tokens = [NONE, NONE, NONE, *(spec.vocab[token] for token in whole)]
        self._token = graph_constant(np.array(tokens, np.int32))

    def merge(self, words: tf.Tensor) -> tf.RaggedTensor:
        """Token ids of words.

        Args:
            words: [W] string, any bytes.

        Returns:
            [W, None] int32.
        """
        if self._whole_words is None:
            return self._merge(words)
        found = self._whole_words.find(words)
        missing = found == NONE
        merged = self._merge(tf.boolean_mask(words, missing))
        single = tf.range(1, tf.size(words, tf.int64) + 1)  # rows of one id each, after the merged ones
        rows = tf.RaggedTensor.from_row_splits(
            tf.concat([merged.values, found], 0),
            tf.concat([merged.row_splits, merged.row_splits[-1] + single], 0),
            validate=False,
        )
        place = tf.cumsum(tf.cast(missing, tf.int64))
        return tf.gather(rows, tf.where(missing, place, merged.nrows() + single) - 1)

    def _merge(self, words: tf.Tensor) -> tf.RaggedTensor:
        """As `merge`, all of them by the operation."""
        letters = self._letters(words)
        count = tf.size(letters)
        padding = tf.fill([-count % _WORDS_PER_STRING], "")
        groups = tf.reshape(tf.concat([letters, padding], 0), [-1, _WORDS_PER_STRING])
        joined = tf.strings.reduce_join(groups, axis=1, separator=END + self._begin)
        flat = self._model.tokenize(tf.strings.join([self._begin, joined, END])).values
        return self._cut(flat, tf.cast(count, tf.int64))

    def _letters(self, words: tf.Tensor) -> tf.Tensor:
        """The words in the byte alphabet, so that SentencePiece sees neither white space nor NUL."""
        raw = tf.cast(tf.io.decode_raw(tf.strings.reduce_join(words), tf.uint8), tf.int32)
        letters = tf.RaggedTensor.from_row_lengths(
            tf.gather(self._letter, raw), tf.strings.length(words), validate=False
        )
        if self._known is not None:
            letters = tf.ragged.boolean_mask(letters, letters.with_values(tf.gather(self._known, raw)))
        return tf.strings.unicode_encode(letters, "UTF-8")

    def _cut(self, flat: tf.Tensor, count: tf.Tensor) -> tf.RaggedTensor:
        """Cut a stream of ids where words end; drop the marks and the rows of the padding."""
        beyond = tf.maximum(flat - self._first_mark, 0)
        ids = tf.where(flat < self._first_mark, flat, tf.gather(self._token, beyond))
        kept = ids != NONE
        is_end = (flat == self._end_id) | (kept & (flat > self._end_id))
        ends = tf.boolean_mask(tf.cumsum(tf.cast(kept, tf.int64)), is_end)[:count]
        splits = tf.concat([tf.zeros([1], tf.int64), ends], 0)
        ids = tf.boolean_mask(ids, kept)[: splits[-1]]
        return tf.RaggedTensor.from_row_splits(ids, splits, validate=False)


def _never_made(spec: TokenizerSpec, made: Iterable[str]) -> list[str]:
    """Tokens that a word may be but merging does not make."""
    never = {*made, *BYTE_LETTERS, *spec.specials}
    return [token for token in spec.vocab if token not in never and LETTER_SET.issuperset(token)]
