"""TextSignatures: text to ids and back."""

from __future__ import annotations

import tensorflow as tf

from models.contract.signatures import NO_ID
from models.signatures.position_check import PositionCheck, checked
from models.signatures.tensor_specs import Endpoint
from preprocessing.tokenizers import GraphTokenizer

_PROMPT_SPECS = (tf.TensorSpec([None], tf.string),)


class TextSignatures(tf.Module):
    """`tokenize`, `tokenize_segments`, `detokenize`.

    Args:
        tokenizer: the in-graph tokenizer.
    """

    def __init__(self, tokenizer: GraphTokenizer) -> None:
        super().__init__(name="text_signatures")
        self.tokenizer = tokenizer
        self._prompt_ids = tf.function(self._prompt, input_signature=_PROMPT_SPECS, autograph=False)

    def endpoints(self) -> dict[str, Endpoint]:
        """Name → function."""
        return {
            "tokenize": self.tokenize,
            "tokenize_segments": self.tokenize_segments,
            "detokenize": self.detokenize,
        }

    def prompt(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Ids that a prompt [B] starts a sequence with: RaggedTensor int32 [B, None].

        One trace for all signatures that take a text.
        """
        return self._prompt_ids(text)

    def _prompt(self, text: tf.Tensor) -> tf.RaggedTensor:
        ids = self.tokenizer.encode(text)
        if not self.tokenizer.add_bos:
            return ids
        first = tf.fill([tf.size(text), 1], self.tokenizer.bos_id)
        return tf.concat([tf.cast(first, tf.int32), ids], axis=1)

    def tokenize(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Ids of each prompt, with the BOS id if the tokenizer puts one."""
        return _flat(self._prompt(text))

    def tokenize_segments(
        self, text: tf.Tensor, special_id: tf.Tensor, row_splits: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Ids of prompts made of text and special tokens; nothing is added."""
        known = tf.constant([NO_ID, *sorted(self.tokenizer.control_ids.values())], tf.int32)
        is_known = tf.reduce_any(special_id[:, None] == known[None], axis=1)
        checks = [
            PositionCheck(
                is_known,
                [
                    "`special_id` must be -1 (text) or the id of a special token:",
                    tf.boolean_mask(special_id, ~is_known),
                    "give ordinary ids as text.",
                ],
            ),
            PositionCheck(
                tf.size(special_id) == tf.size(text),
                [
                    "`special_id` must be as long as `text`:",
                    tf.size(special_id),
                    "beside",
                    tf.size(text),
                    "texts; give one for each segment, -1 for text.",
                ],
            ),
            _rows_of(row_splits, "text", text),
        ]
        return _flat(self.tokenizer.encode_segments(*checked(checks, text, special_id, row_splits)))

    def detokenize(self, ids: tf.Tensor, row_splits: tf.Tensor) -> dict[str, tf.Tensor]:
        """Text of each row."""
        ids, row_splits = checked([_rows_of(row_splits, "ids", ids)], ids, row_splits)
        rows = tf.RaggedTensor.from_row_splits(ids, row_splits, validate=False)
        return {"text": self.tokenizer.decode(rows)}


def _rows_of(row_splits: tf.Tensor, name: str, values: tf.Tensor) -> PositionCheck:
    """Check that row splits [R + 1] divide values [N]: 0, never descending, N."""
    size = tf.size(values, tf.int64)
    divides = [
        tf.size(row_splits) > 0,
        tf.reduce_all(row_splits[:1] == 0),
        tf.reduce_all(row_splits[1:] >= row_splits[:-1]),
        tf.reduce_all(row_splits[-1:] == size),
    ]
    message = [
        f"`row_splits` must start at 0, not descend and end at the length of `{name}`:",
        row_splits,
        "length:",
        size,
        "give the places where rows start, and the length.",
    ]
    return PositionCheck(tf.reduce_all(divides), message)


def _flat(ids: tf.RaggedTensor) -> dict[str, tf.Tensor]:
    return {"ids": tf.cast(ids.flat_values, tf.int32), "row_splits": tf.cast(ids.row_splits, tf.int64)}
