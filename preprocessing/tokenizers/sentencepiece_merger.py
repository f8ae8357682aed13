"""SentencepieceMerger: merges the bytes of words to token ids with TF Text's SentencePiece operation."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from preprocessing.tokenizers.byte_alphabet import BYTE_LETTERS, LETTER_SET
from preprocessing.tokenizers.graph_constant import graph_constant
from preprocessing.tokenizers.merge_rules import made_tokens
from preprocessing.tokenizers.sentencepiece_model import BEGIN, END, sentencepiece_model
from preprocessing.tokenizers.tokenizer_spec import TokenizerSpec

_WORDS_PER_STRING = 32
"""A call for a string costs microseconds whatever its length, so words share strings."""


class SentencepieceMerger(tf.Module):
    """Merges by concatenation, which gives the ids of merging by rule: see `merge_rules`.

    Args:
        spec: of kind byte-level BPE. Bytes without a token are dropped before merging, as Hugging
            Face tokenizers does without an unknown token.
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__()
        made = made_tokens(spec.vocab, spec.merges)
        whole = _whole_words(spec, made) if spec.ignore_merges else []
        model = sentencepiece_model(spec.vocab, made, whole, spec.vocab_size)
        self._model = tf_text.SentencepieceTokenizer(model=model, out_type=tf.int32)
        self._letter = graph_constant(np.array([ord(letter) for letter in BYTE_LETTERS], np.int32))
        known = np.array([letter in spec.vocab for letter in BYTE_LETTERS])
        self._known = None if known.all() else graph_constant(known)
        self._end_id, self._begin_id = spec.vocab_size + 1, spec.vocab_size + 2
        self._is_whole = None
        if whole:
            is_whole = np.zeros(spec.vocab_size + 3, bool)
            is_whole[[spec.vocab[token] for token in whole]] = True
            self._is_whole = graph_constant(is_whole)

    def merge(self, words: tf.Tensor) -> tf.RaggedTensor:
        """Token ids of words.

        Args:
            words: [W] string, any bytes.

        Returns:
            [W, None] int32.
        """
        letters = self._letters(words)
        count = tf.size(letters)
        padding = tf.fill([-count % _WORDS_PER_STRING], "")
        groups = tf.reshape(tf.concat([letters, padding], 0), [-1, _WORDS_PER_STRING])
        begin = BEGIN if self._is_whole is not None else ""
        joined = tf.strings.reduce_join(groups, axis=1, separator=END + begin)
        flat = self._model.tokenize(tf.strings.join([begin, joined, END])).values
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
        is_end = flat == self._end_id
        if self._is_whole is None:
            kept = ~is_end
            ends = tf.where(is_end)[:count, 0] - tf.range(count)
        else:
            kept = ~is_end & (flat != self._begin_id)
            is_end |= tf.gather(self._is_whole, flat)
            ends = tf.boolean_mask(tf.cumsum(tf.cast(kept, tf.int64)), is_end)[:count]
        splits = tf.concat([tf.zeros([1], tf.int64), ends], 0)
        ids = tf.boolean_mask(flat, kept)[: splits[-1]]
        return tf.RaggedTensor.from_row_splits(ids, splits, validate=False)


def _whole_words(spec: TokenizerSpec, made: Iterable[str]) -> list[str]:
    """Tokens that a word may be but merging does not make."""
    never = {*made, *BYTE_LETTERS, *spec.specials}
    return [token for token in spec.vocab if token not in never and LETTER_SET.issuperset(token)]
