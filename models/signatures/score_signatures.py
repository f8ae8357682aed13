"""ScoreSignatures: negative log-likelihoods of given ids or text."""

from __future__ import annotations

import tensorflow as tf

from models.decoder import Decoder
from models.signatures.tensor_specs import Endpoint
from models.signatures.text_signatures import TextSignatures

GROUP_TOKENS = 4096
"""Most positions, rows times length, that run through the blocks at once."""

LOGIT_FLOATS = 16_000_000
"""Most logits that exist at once: 64 MB."""


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

    def __init__(self, decoder: Decoder, text: TextSignatures, max_length: int) -> None:
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
        longest = tf.maximum(tf.reduce_max(lengths), 1)
        check = tf.debugging.Assert(
            (longest <= self.max_length) & (longest <= tf.maximum(tf.shape(ids)[1], 1)),
            [
                f"`lengths` must not exceed the ids' columns nor the context of {self.max_length} tokens:",
                lengths,
            ],
        )
        with tf.control_dependencies([check]):
            ids = tf.identity(ids)[:, :longest]
        rows = tf.shape(ids)[0]
        group = tf.maximum(GROUP_TOKENS // longest, 1)

        def body(at: tf.Tensor, sums: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            part = slice(at, at + group)
            found = self._score_group(ids[part], lengths[part], score_from[part])
            return at + group, tf.concat([sums, found], axis=0)

        state = (tf.constant(0), tf.zeros([0]))
        shapes = (tf.TensorShape([]), tf.TensorShape([None]))
        _, sums = tf.while_loop(lambda at, _: at < rows, body, state, shapes, parallel_iterations=1)
        scored = tf.maximum(lengths - tf.maximum(score_from, 1), 0)
        return {"nll_sum": sums, "scored": scored}

    def _score_group(self, ids: tf.Tensor, lengths: tf.Tensor, score_from: tf.Tensor) -> tf.Tensor:
        """Sums [G] of a few rows: blocks over all positions, the head over scored ones only."""
        target = tf.range(tf.shape(ids)[1])[None]
        wanted = (target >= tf.maximum(score_from, 1)[:, None]) & (target < lengths[:, None])
        where = tf.cast(tf.where(wanted), tf.int32)
        targets = tf.gather_nd(ids, where)
        features = tf.gather_nd(self.decoder.features(ids), where - [[0, 1]])
        chunk = max(LOGIT_FLOATS // self.decoder.config.vocab_size, 1)
        count, rows = tf.size(targets), tf.shape(ids)[0]

        def body(at: tf.Tensor, sums: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            part = slice(at, at + chunk)
            logits = self.decoder.head(features[part][None])[0]
            nll = tf.nn.sparse_softmax_cross_entropy_with_logits(targets[part], logits)
            return at + chunk, sums + tf.math.unsorted_segment_sum(nll, where[part][:, 0], rows)

        state = (tf.constant(0), tf.zeros([rows]))
        return tf.while_loop(lambda at, _: at < count, body, state, parallel_iterations=1)[1]

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
