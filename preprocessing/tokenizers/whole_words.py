"""WholeWords: words that are tokens, found by one look-up each, as graph operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import tensorflow as tf

from preprocessing.tokenizers.byte_alphabet import BYTE_LETTERS, token_to_bytes
from preprocessing.tokenizers.graph_constant import graph_constant

_SLOTS = 1 << 15
"""A word has one slot; more slots hold more tokens, of which each costs some 12 bytes of a package."""

NONE = -1


class WholeWords(tf.Module):
    """A constant table in which a word's hash is its place.

    A word is compared with what its slot holds, so that equal hashes give no wrong id; of tokens with one
    slot the first keeps it, the others are left to merging.

    Args:
        vocab: token in the byte alphabet → id.
        made: tokens that merging makes of their bytes, the most frequent first.
    """

    def __init__(self, vocab: Mapping[str, int], made: Iterable[str]) -> None:
        super().__init__()
        letters = [letter for letter in BYTE_LETTERS if letter in vocab]
        tokens = [*letters, *made][:_SLOTS]
        words = [token_to_bytes(token) for token in tokens]
        slots = tf.strings.to_hash_bucket_fast(words or [b""], _SLOTS).numpy()
        # An empty slot holds a word of another slot, which therefore is never compared with it.
        held = [words[0] if words else b""] * _SLOTS
        ids = np.full(_SLOTS, NONE, np.int32)
        for slot, word, token in zip(slots[::-1], words[::-1], tokens[::-1], strict=False):
            held[slot], ids[slot] = word, vocab[token]
        self._words = graph_constant(held)
        self._ids = graph_constant(ids)

    def find(self, words: tf.Tensor) -> tf.Tensor:
        """Ids [W] int32 of words [W] string; NONE of those that are not in the table."""
        slots = tf.strings.to_hash_bucket_fast(words, _SLOTS)
        return tf.where(tf.gather(self._words, slots) == words, tf.gather(self._ids, slots), NONE)
