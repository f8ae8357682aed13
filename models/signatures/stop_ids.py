"""Where rows of ids meet a stop id."""

from __future__ import annotations

import tensorflow as tf

from models.contract.signatures import NO_ID


def finished_at(ids: tf.Tensor, stop_ids: tf.Tensor) -> tf.Tensor:
    """First step that made a stop id, else N.

    Args:
        ids: [B, N] int32.
        stop_ids: [B, E] int32, filled up with NO_ID.

    Returns:
        [B] int32.
    """
    valid = (stop_ids != NO_ID)[:, None]
    hit = tf.reduce_any((ids[:, :, None] == stop_ids[:, None]) & valid, axis=2)
    steps = tf.shape(ids)[1]
    return tf.reduce_min(tf.where(hit, tf.range(steps)[None], steps), axis=1)
