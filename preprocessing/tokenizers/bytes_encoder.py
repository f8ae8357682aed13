"""BytesEncoder: every byte is a token, as graph operations."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from preprocessing.tokenizers.byte_alphabet import BYTE_LETTERS
from preprocessing.tokenizers.byte_level_bpe_encoder import optional_column
from preprocessing.tokenizers.graph_constant import graph_constant
from preprocessing.tokenizers.special_matcher import SpecialMatcher
from preprocessing.tokenizers.tokenizer_spec import TokenizerSpec


class BytesEncoder(tf.Module):
    """Looks up each byte's id; bytes that are not UTF-8 pass as they are.

    Args:
        spec: of kind bytes.
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__()
        self._ids = graph_constant(np.array([spec.vocab[letter] for letter in BYTE_LETTERS], np.int32))
        raw = {_bytes_as_letters(content): index for content, index in spec.specials.items()}
        self._matcher = SpecialMatcher(raw) if raw else None

    def encode(self, text: tf.Tensor, with_special: bool) -> tf.RaggedTensor:
        """[B] string to [B, None] int32; special tokens become ids only if asked."""
        raw = tf.cast(tf.io.decode_raw(tf.strings.reduce_join(text), tf.uint8), tf.int32)
        rows = tf.RaggedTensor.from_row_lengths(
            raw, tf.cast(tf.strings.length(text), tf.int64), validate=False
        )
        ids = rows.with_values(tf.gather(self._ids, raw))
        return self._with_special(rows, ids) if with_special and self._matcher else ids

    def encode_bare(self, text: tf.Tensor) -> tf.RaggedTensor:
        """[B] string to [B, None] int32; nothing but text comes of text."""
        return self.encode(text, with_special=False)

    def _with_special(self, rows: tf.RaggedTensor, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Put a special token's id in place of its first byte and drop the others."""
        matches = self._matcher.find(rows.values, rows.row_splits)
        count = tf.size(rows.values)
        at = tf.concat([matches.start, matches.end], 0)[:, None]
        step = tf.concat([tf.ones_like(matches.id), -tf.ones_like(matches.id)], 0)
        covered = tf.cumsum(tf.tensor_scatter_nd_add(tf.zeros([count + 1], tf.int32), at, step))[:-1] > 0
        special = tf.tensor_scatter_nd_update(tf.fill([count], -1), matches.start[:, None], matches.id)
        ids = tf.where(covered, special, ids.values)
        kept = optional_column(ids)
        return tf.RaggedTensor.from_row_splits(
            kept.values, tf.gather(kept.row_splits, rows.row_splits), validate=False
        )


def _bytes_as_letters(text: str) -> str:
    return text.encode("utf-8").decode("latin-1")
