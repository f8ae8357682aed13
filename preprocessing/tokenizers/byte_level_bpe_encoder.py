"""ByteLevelBpeEncoder: text to ids by GPT-2's byte-level BPE, as graph operations."""

from __future__ import annotations

import tensorflow as tf

from preprocessing.tokenizers.control_ids import control_ids
from preprocessing.tokenizers.sentencepiece_merger import SentencepieceMerger
from preprocessing.tokenizers.special_matcher import SpecialMatcher
from preprocessing.tokenizers.tokenizer_spec import TokenizerSpec
from preprocessing.tokenizers.word_splitter import WordSplitter


class ByteLevelBpeEncoder(tf.Module):
    """Words, then each distinct word's merges once, then the words' ids in order.

    Args:
        spec: of kind byte-level BPE.
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__()
        self._splitter = WordSplitter(spec.pattern, spec.nfc)
        self._added = SpecialMatcher(spec.added) if spec.added else None
        marks = control_ids(spec)
        plain = {content: index for content, index in spec.added.items() if content not in marks}
        self._plain = SpecialMatcher(plain) if plain else None
        self._all = SpecialMatcher({**spec.added, **spec.specials}) if spec.specials else self._added
        self._merger = SentencepieceMerger(spec)

    def encode(self, text: tf.Tensor, with_special: bool) -> tf.RaggedTensor:
        """[B] string to [B, None] int32; special tokens become ids only if asked."""
        return self._encode(text, self._all if with_special else self._added)

    def encode_bare(self, text: tf.Tensor) -> tf.RaggedTensor:
        """[B] string to [B, None] int32; no token that a chat template may write comes of text."""
        return self._encode(text, self._plain)

    def _encode(self, text: tf.Tensor, matcher: SpecialMatcher | None) -> tf.RaggedTensor:
        with tf.name_scope("split"):
            words = self._splitter.split(text, matcher)
        with tf.name_scope("unique"):
            unique, index = tf.unique(words.text)
        with tf.name_scope("merge"):
            merged = self._merger.merge(unique)
        with tf.name_scope("gather"):
            ids = tf.gather(merged, index)
            if words.special_id is not None:
                ids = tf.concat([ids, optional_column(words.special_id)], 1)
            splits = tf.gather(ids.row_splits, words.row_splits)
            return tf.RaggedTensor.from_row_splits(ids.values, splits, validate=False)


def optional_column(ids: tf.Tensor) -> tf.RaggedTensor:
    """[N] int32 as [N, 0 or 1]: the rows whose id is negative are empty."""
    present = ids >= 0
    return tf.RaggedTensor.from_row_lengths(
        tf.boolean_mask(ids, present), tf.cast(present, tf.int64), validate=False
    )
