"""Sums and searches over the vocabulary by groups of neighbouring ids: one pass, then a short rest."""

from __future__ import annotations

import tensorflow as tf

WIDTH = 64
"""Ids per group: near the root of the usual vocabularies, so that both levels are short."""


def grouped(x: tf.Tensor, filler: float) -> tf.Tensor:
    """[B, V] → [B, G, 64], the last group filled up."""
    missing = -x.shape[-1] % WIDTH
    padded = tf.pad(x, [[0, 0], [0, missing]], constant_values=filler) if missing else x
    return tf.reshape(padded, [-1, padded.shape[-1] // WIDTH, WIDTH])


def total(weights: tf.Tensor) -> tf.Tensor:
    """Sum of each row [B, V] → [B]."""
    return tf.reduce_sum(weights, axis=1)


def locate(weights: tf.Tensor, share: tf.Tensor) -> tf.Tensor:
    """The first id whose running sum exceeds a share of the row's total.

    Args:
        weights: [B, V] float32, none negative. A row of zeros gives id 0.
        share: [B] float32 in [0, 1).

    Returns:
        [B] int32, an id of positive weight.
    """
    inside = grouped(weights, 0.0)
    sums = tf.reduce_sum(inside, axis=2)
    running = tf.cumsum(sums, axis=1)
    target = (share * running[:, -1])[:, None]
    group = _first_above(running, sums, target)
    index = group[:, None]
    before = tf.gather(running - sums, index, batch_dims=1)
    members = tf.gather(inside, group, batch_dims=1)
    column = _first_above(tf.cumsum(members, axis=1), members, target - before)
    return group * WIDTH + column


def _first_above(running: tf.Tensor, weights: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    """First column whose running sum exceeds the target [B, 1], at most the last one with any weight."""
    below = tf.reduce_sum(tf.cast(running <= target, tf.int32), axis=1)
    column = tf.range(weights.shape[1])[None]
    last = tf.reduce_max(tf.where(weights > 0, column, 0), axis=1)
    return tf.minimum(below, last)
