"""Mean hidden states of rows of ids, in memory that does not grow with their number."""

from __future__ import annotations

import tensorflow as tf

from models.decoder_computation import DecoderComputation
from models.scoring import GROUP_TOKENS


def mean_features(decoder: DecoderComputation, ids: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """Mean of the final norm's outputs over each row's ids, for a tf.function without autograph.

    Args:
        decoder: the network.
        ids: [B, T] int32.
        lengths: [B] int32, valid ids of each row; the rest is padding, whatever it holds.

    Returns:
        [B, E] float32; zeros for a row without ids.
    """
    # The network takes no empty row: one column is there even if all rows are empty.
    ids = tf.pad(ids, [[0, 0], [0, 1]])[:, : tf.reduce_max(tf.concat([lengths, [1]], axis=0))]
    rows, group = tf.shape(ids)[0], tf.maximum(GROUP_TOKENS // tf.shape(ids)[1], 1)

    def body(at: tf.Tensor, means: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        part = slice(at, at + group)
        return at + group, tf.concat([means, _group_means(decoder, ids[part], lengths[part])], axis=0)

    width = decoder.config.hidden_size
    state = (tf.constant(0), tf.zeros([0, width]))
    shapes = (tf.TensorShape([]), tf.TensorShape([None, width]))
    return tf.while_loop(lambda at, _: at < rows, body, state, shapes, parallel_iterations=1)[1]


def _group_means(decoder: DecoderComputation, ids: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """Means [G, E] of a few rows."""
    valid = tf.range(tf.shape(ids)[1])[None] < lengths[:, None]
    # Padding may hold any number, but the embedding has a row for ids only.
    x = decoder.final(decoder.features(tf.where(valid, ids, 0)))
    total = tf.reduce_sum(tf.where(valid[..., None], x, 0.0), axis=1)
    return total / tf.cast(tf.maximum(lengths, 1), tf.float32)[:, None]
