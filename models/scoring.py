"""Scoring: negative log-likelihoods of windows of ids, in memory that does not grow with their number."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import tensorflow as tf

from models.decoder_computation import DecoderComputation

GROUP_TOKENS = 4096
"""Most positions, rows times length, that run through the blocks at once."""

LOGIT_FLOATS = 16_000_000
"""Most logits that exist at once: 64 MB."""


class Scorer(Protocol):
    """Whatever can score windows: a checkpoint's network or a loaded model package."""

    def score(
        self, ids: np.ndarray, lengths: np.ndarray, score_from: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Score position t of a row iff max(1, score_from) ≤ t < lengths.

        Args:
            ids: [B, T] int32; what lies beyond a row's length is ignored.
            lengths: [B] int32.
            score_from: [B] int32.

        Returns:
            nll_sum [B] float32, in nats; scored [B] int32.
        """


class CheckpointScorer:
    """Scores with a decoder, without exporting it first; one trace serves all shapes.

    Args:
        decoder: the network.
    """

    def __init__(self, decoder: DecoderComputation) -> None:
        row = tf.TensorSpec([None], tf.int32)
        self._score = tf.function(
            lambda ids, lengths, score_from: score_rows(decoder, ids, lengths, score_from),
            input_signature=[tf.TensorSpec([None, None], tf.int32), row, row],
            autograph=False,
        )

    def score(
        self, ids: np.ndarray, lengths: np.ndarray, score_from: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Implements `Scorer`."""
        rows = (np.asarray(value, np.int32) for value in (ids, lengths, score_from))
        nll_sum, scored = self._score(*rows)
        return nll_sum.numpy(), scored.numpy()


def score_rows(
    decoder: DecoderComputation, ids: tf.Tensor, lengths: tf.Tensor, score_from: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """The graph of `Scorer.score`, for a tf.function without autograph.

    Rows run in groups, and the head runs over the scored positions alone, a chunk at a time.

    Args:
        decoder: the network.
        ids: [B, T] int32.
        lengths: [B] int32.
        score_from: [B] int32.

    Returns:
        nll_sum [B] float32, in nats, summed in float32; scored [B] int32.
    """
    longest = tf.reduce_max(tf.concat([lengths, [1]], axis=0))
    ids = ids[:, :longest]
    rows, group = tf.shape(ids)[0], tf.maximum(GROUP_TOKENS // longest, 1)

    def body(at: tf.Tensor, sums: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        part = slice(at, at + group)
        found = _score_group(decoder, ids[part], lengths[part], score_from[part])
        return at + group, tf.concat([sums, found], axis=0)

    state = (tf.constant(0), tf.zeros([0]))
    shapes = (tf.TensorShape([]), tf.TensorShape([None]))
    _, sums = tf.while_loop(lambda at, _: at < rows, body, state, shapes, parallel_iterations=1)
    return sums, tf.maximum(lengths - tf.maximum(score_from, 1), 0)


def _score_group(
    decoder: DecoderComputation, ids: tf.Tensor, lengths: tf.Tensor, score_from: tf.Tensor
) -> tf.Tensor:
    """Sums [G] of a few rows."""
    position = tf.range(tf.shape(ids)[1])[None]
    valid = position < lengths[:, None]
    where = tf.cast(tf.where(valid & (position >= tf.maximum(score_from, 1)[:, None])), tf.int32)
    targets = tf.gather_nd(ids, where)
    # Padding may hold any number, but the embedding has a row for ids only.
    features = decoder.features(tf.where(valid, ids, 0))
    nll = _token_nll(decoder, tf.gather_nd(features, where - [[0, 1]]), targets)
    return tf.math.unsorted_segment_sum(nll, where[:, 0], tf.shape(ids)[0])


def _token_nll(decoder: DecoderComputation, features: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
    """Negative log-likelihoods [N] float32 of targets [N] after features [N, E]."""
    chunk = max(LOGIT_FLOATS // decoder.config.vocab_size, 1)

    def body(at: tf.Tensor, found: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        part = slice(at, at + chunk)
        logits = decoder.head(features[part][None])[0]
        # TensorFlow's fused cross-entropy also computes a gradient, at 2.6 times the cost of this.
        nll = tf.reduce_logsumexp(logits, axis=-1) - tf.gather(logits, targets[part], batch_dims=1)
        return at + chunk, tf.concat([found, nll], axis=0)

    state = (tf.constant(0), tf.zeros([0]))
    shapes = (tf.TensorShape([]), tf.TensorShape([None]))
    return tf.while_loop(lambda at, _: at < tf.size(targets), body, state, shapes, parallel_iterations=1)[1]
