"""ScoreSignatures: negative log-likelihoods of given ids or text."""

from __future__ import annotations

import tensorflow as tf

from models.decoder_computation import DecoderComputation
from models.scoring import score_rows
from models.signatures.tensor_specs import Endpoint
from models.signatures.text_signatures import TextSignatures

_SCORE_SPECS = (
    tf.TensorSpec([None, None], tf.int32),
    tf.TensorSpec([None], tf.int32),
    tf.TensorSpec([None], tf.int32),
)


class ScoreSignatures(tf.Module):
    """`score_ids`, `score_text`; memory does not grow with the number of rows.

    Args:
        decoder: the network.
        text: whose tokenizer and prompt rules apply.
        max_length: longest text in tokens.
    """

    def __init__(self, decoder: DecoderComputation, text: TextSignatures, max_length: int) -> None:
        super().__init__(name="score_signatures")
        self.decoder = decoder
        self.text = text
        self.max_length = max_length
        # One trace for both signatures: half the graph.
        self._score = tf.function(self._score_rows, input_signature=_SCORE_SPECS, autograph=False)

    def endpoints(self) -> dict[str, Endpoint]:
        """Name → function."""
        return {"score_ids": self.score_ids, "score_text": self.score_text}

    def score_ids(self, ids: tf.Tensor, lengths: tf.Tensor, score_from: tf.Tensor) -> dict[str, tf.Tensor]:
        """Score position t of a row iff max(1, score_from) ≤ t < lengths.

        Args:
            ids: [B, T] int32.
            lengths: [B] int32, valid ids of each row; the rest is padding, whatever it holds.
            score_from: [B] int32.

        Returns:
            nll_sum [B] float32, in nats, summed in float32; scored [B] int32.
        """
        return self._score(ids, lengths, score_from)

    def _score_rows(self, ids: tf.Tensor, lengths: tf.Tensor, score_from: tf.Tensor) -> dict[str, tf.Tensor]:
        check = tf.debugging.Assert(
            tf.reduce_all((lengths <= self.max_length) & (lengths <= tf.shape(ids)[1])),
            [
                f"`lengths` must not exceed the ids' columns nor the context of {self.max_length} tokens:",
                lengths,
            ],
        )
        with tf.control_dependencies([check]):
            nll_sum, scored = score_rows(self.decoder, tf.identity(ids), lengths, score_from)
        return {"nll_sum": nll_sum, "scored": scored}

    def score_text(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Score every token of each text but its first."""
        ids = self.text.prompt(text)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        check = tf.debugging.Assert(
            tf.reduce_all(lengths <= self.max_length),
            [
                f"`text` exceeds the context of {self.max_length} tokens; score it in windows. Tokens:",
                lengths,
            ],
        )
        with tf.control_dependencies([check]):
            dense = ids.to_tensor()
        result = self.score_ids(dense, lengths, tf.zeros_like(lengths))
        return {**result, "bytes": tf.strings.length(text)}
