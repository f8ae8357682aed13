"""The vocabulary by groups of neighbouring ids: one pass over it, then two short searches."""

from __future__ import annotations

import tensorflow as tf

WIDTH = 64
"""Ids per group: near the root of the usual vocabularies, so that both levels are short."""


def grouped(x: tf.Tensor, filler: float) -> tf.Tensor:
    """[B, V] → [B, G, 64], the last group filled up."""
    missing = -x.shape[-1] % WIDTH
    padded = tf.pad(x, [[0, 0], [0, missing]], constant_values=filler) if missing else x
    return tf.reshape(padded, [-1, padded.shape[-1] // WIDTH, WIDTH])


def locate(weights: tf.Tensor, share: tf.Tensor) -> tf.Tensor:
    """The first id whose running sum exceeds a share of the total: the inverse of the distribution.

    Args:
        weights: [V] float32, none negative. Zeros alone give id 0.
        share: scalar float32 in [0, 1).

    Returns:
        Scalar int32, an id of positive weight.
    """
    members = grouped(weights[None], 0.0)[0]
    sums = tf.reduce_sum(members, axis=1)
    running = tf.cumsum(sums)
    target = share * running[-1]
    group = _first_above(running, sums, target)
    inside = tf.gather(members, group)
    rest = target - tf.gather(running - sums, group)
    return group * WIDTH + _first_above(tf.cumsum(inside), inside, rest)


def _first_above(running: tf.Tensor, weights: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    """First index whose running sum exceeds the target, at most the last one with any weight."""
    below = tf.reduce_sum(tf.cast(running <= target, tf.int32))
    last = tf.reduce_max(tf.where(weights > 0, tf.range(weights.shape[0]), 0))
    return tf.minimum(below, last)
