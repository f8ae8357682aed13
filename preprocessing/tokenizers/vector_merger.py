"""VectorMerger: merges the bytes of words to token ids by rule, with core TensorFlow operations."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from preprocessing.tokenizers.byte_alphabet import BYTE_LETTERS
from preprocessing.tokenizers.graph_constant import graph_constant
from preprocessing.tokenizers.tokenizer_spec import TokenizerSpec

MAX_WORD_BYTES = 4096
"""A step merges one rule per word, so a word's cost grows with its length squared."""

_NO_RULE = 2**30
_Parts = tuple[tf.Tensor, tf.Tensor, tf.Tensor]


class VectorMerger(tf.Module):
    """Merges by rule, all words at once; for vocabularies that merging by concatenation gets wrong.

    Each step finds the most urgent pair of every word and merges all its occurrences. Exact for
    rules that `merge_rules.used_before_complete` passes.

    Args:
        spec: of kind byte-level BPE. Bytes without a token are dropped before merging.
        max_word_bytes: a longer word ends the call with InvalidArgumentError, since its cost would
            be out of proportion.
    """

    def __init__(self, spec: TokenizerSpec, max_word_bytes: int = MAX_WORD_BYTES) -> None:
        super().__init__()
        self._max_word_bytes = max_word_bytes
        self._base = spec.vocab_size
        keys = np.array(
            [spec.vocab[left] * self._base + spec.vocab[right] for left, right in spec.merges], np.int64
        )
        order = np.argsort(keys)
        self._keys = graph_constant(keys[order])
        self._ranks = graph_constant(order.astype(np.int32))
        self._merged = graph_constant(np.array([spec.vocab[a + b] for a, b in spec.merges], np.int32))
        self._byte_id = graph_constant(
            np.array([spec.vocab.get(letter, -1) for letter in BYTE_LETTERS], np.int32)
        )

    def merge(self, words: tf.Tensor) -> tf.RaggedTensor:
        """Token ids of words.

        Args:
            words: [W] string, any bytes.

        Returns:
            [W, None] int32.
        """
        length = tf.strings.length(words)
        raw = tf.cast(tf.io.decode_raw(tf.strings.reduce_join(words), tf.uint8), tf.int32)
        ids = tf.gather(self._byte_id, raw)
        word = tf.repeat(tf.range(tf.size(words)), length)
        known = ids >= 0
        with tf.control_dependencies([self._assert_bounded(length)]):
            ids, word = tf.boolean_mask(ids, known), tf.boolean_mask(word, known)
        ids, position = self._merge_all(ids, word)
        order = tf.argsort(position)
        word = tf.gather(tf.gather(word, position), order)
        splits = tf.searchsorted(word, tf.range(tf.size(words) + 1), out_type=tf.int64)
        return tf.RaggedTensor.from_row_splits(tf.gather(ids, order), splits, validate=False)

    def _assert_bounded(self, length: tf.Tensor) -> tf.Operation:
        return tf.debugging.Assert(
            tf.reduce_all(length <= self._max_word_bytes),
            [f"a word has more than {self._max_word_bytes} bytes, the most this tokenizer takes"],
        )

    def _merge_all(self, ids: tf.Tensor, word: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Final ids [K] and the positions [K] of their first bytes, in no order."""
        empty = tf.zeros([0], tf.int32)

        def step(ids, word, position, done_ids, done_position):
            ranks = self._pair_ranks(ids, word)
            best = _best_of_word(ranks, word)
            live = best < _NO_RULE
            done_ids = tf.concat([done_ids, tf.boolean_mask(ids, ~live)], 0)
            done_position = tf.concat([done_position, tf.boolean_mask(position, ~live)], 0)
            parts = tuple(tf.boolean_mask(part, live) for part in (ids, word, position))
            ranks = tf.boolean_mask(ranks, live)
            return (
                *self._merge_hits(parts, ranks, ranks == tf.boolean_mask(best, live)),
                done_ids,
                done_position,
            )

        state = (ids, word, tf.range(tf.size(ids)), empty, empty)
        *_, done_ids, done_position = tf.while_loop(
            lambda ids, *_: tf.size(ids) > 0,
            step,
            state,
            shape_invariants=(tf.TensorShape([None]),) * len(state),
            parallel_iterations=1,
        )
        return done_ids, done_position

    def _pair_ranks(self, ids: tf.Tensor, word: tf.Tensor) -> tf.Tensor:
        """Rank [n] of the pair that begins at each part; _NO_RULE without a rule or a right neighbour."""
        key = tf.cast(ids[:-1], tf.int64) * self._base + tf.cast(ids[1:], tf.int64)
        at = tf.minimum(tf.searchsorted(self._keys, key), tf.size(self._keys) - 1)
        is_rule = (tf.gather(self._keys, at) == key) & (word[:-1] == word[1:])
        return tf.concat([tf.where(is_rule, tf.gather(self._ranks, at), _NO_RULE), [_NO_RULE]], 0)

    def _merge_hits(self, parts: _Parts, ranks: tf.Tensor, hit: tf.Tensor) -> _Parts:
        """Merge the pairs marked by hit [n]; of overlapping ones (`aaa`) every other, from the left."""
        ids, word, position = parts
        index = tf.range(tf.size(ids))
        hit &= (index - _last_miss(hit, index)) % 2 == 1
        rule = tf.where(hit, ranks, 0)
        ids = tf.where(hit, tf.gather(self._merged, rule), ids)
        keep = ~tf.concat([[False], hit], 0)[:-1]
        return tf.boolean_mask(ids, keep), tf.boolean_mask(word, keep), tf.boolean_mask(position, keep)


def _best_of_word(ranks: tf.Tensor, word: tf.Tensor) -> tf.Tensor:
    """[n] the smallest rank within each part's word; `word` [n] ascends, with gaps."""
    dense = tf.cumsum(tf.cast(tf.concat([[False], word[1:] != word[:-1]], 0), tf.int32))
    return tf.gather(tf.math.segment_min(ranks, dense), dense)


def _last_miss(hit: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
    """[n] the last index at or before each place where hit is False; −1 before the first."""
    misses = tf.boolean_mask(index, ~hit)
    return tf.gather(tf.concat([[-1], misses], 0), tf.cumsum(tf.cast(~hit, tf.int32)))
