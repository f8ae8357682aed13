"""TextSignatures: text to ids and back."""

from __future__ import annotations

import tensorflow as tf

from models.contract.signatures import NO_ID
from models.signatures.tensor_specs import Endpoint
from preprocessing.tokenizers import GraphTokenizer


class TextSignatures(tf.Module):
    """`tokenize`, `tokenize_segments`, `detokenize`.

    Args:
        tokenizer: the in-graph tokenizer.
    """

    def __init__(self, tokenizer: GraphTokenizer) -> None:
        super().__init__(name="text_signatures")
        self.tokenizer = tokenizer

    def endpoints(self) -> dict[str, Endpoint]:
        """Name → function."""
        return {
            "tokenize": self.tokenize,
            "tokenize_segments": self.tokenize_segments,
            "detokenize": self.detokenize,
        }

    def prompt(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Ids that a prompt [B] starts a sequence with: RaggedTensor int32 [B, None]."""
        ids = self.tokenizer.encode(text)
        if not self.tokenizer.add_bos:
            return ids
        first = tf.fill([tf.size(text), 1], self.tokenizer.bos_id)
        return tf.concat([tf.cast(first, tf.int32), ids], axis=1)

    def tokenize(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Ids of each prompt, with the BOS id if the tokenizer puts one."""
        return _flat(self.prompt(text))

    def tokenize_segments(
        self, text: tf.Tensor, special_id: tf.Tensor, row_splits: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Ids of prompts made of text and special tokens; nothing is added."""
        known = tf.constant([NO_ID, *sorted(self.tokenizer.special_ids.values())], tf.int32)
        check = tf.debugging.Assert(
            tf.reduce_all(tf.reduce_any(special_id[:, None] == known[None], axis=1)),
            ["`special_id` must be -1 (text) or the id of a special token:", special_id],
        )
        with tf.control_dependencies([check]):
            special_id = tf.identity(special_id)
        return _flat(self.tokenizer.encode_segments(text, special_id, row_splits))

    def detokenize(self, ids: tf.Tensor, row_splits: tf.Tensor) -> dict[str, tf.Tensor]:
        """Text of each row."""
        return {"text": self.tokenizer.decode(tf.RaggedTensor.from_row_splits(ids, row_splits))}


def _flat(ids: tf.RaggedTensor) -> dict[str, tf.Tensor]:
    return {"ids": tf.cast(ids.flat_values, tf.int32), "row_splits": tf.cast(ids.row_splits, tf.int64)}
