"""Random numbers of a row: functions of its seed, the position and, for Gumbel noise, the id.

Source: SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
"""

from __future__ import annotations

import tensorflow as tf

_WEYL = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB


def uniform(seed: tf.Tensor, position: tf.Tensor, attempt: tf.Tensor | int = 0) -> tf.Tensor:
    """A number in [0, 1) from a seed and a position, the same wherever it is computed.

    Args:
        seed: [B] int64.
        position: [B] int32, at least 0.
        attempt: scalar int32: another number for each.

    Returns:
        [B] float32, multiples of 2⁻²⁴.
    """
    high = tf.bitwise.right_shift(_state(seed, position, attempt), tf.constant(40, tf.uint64))
    return tf.cast(tf.cast(high, tf.int32), tf.float32) * 2.0**-24


def gumbel(seed: tf.Tensor, position: tf.Tensor, ids: tf.Tensor, attempt: tf.Tensor | int = 0) -> tf.Tensor:
    """Standard Gumbel noise of each id: a draw is the id whose log-weight plus noise is largest.

    The state of (seed, position) opens a stream of the generator; an id has the stream's number of
    that index, hence the same noise among whichever others it is compared.

    Args:
        seed: [B] int64.
        position: [B] int32, at least 0.
        ids: [B, C] int32, at least −1.
        attempt: scalar int32: other noise for each.

    Returns:
        [B, C] float32, finite.
    """
    index = tf.cast(ids, tf.uint64) * tf.constant(_WEYL, tf.uint64)
    bits = _mix(_state(seed, position, attempt)[:, None] + index)
    number = tf.cast(tf.bitwise.right_shift(bits, tf.constant(11, tf.uint64)), tf.int64)
    # Double precision: the rare ids win by noise that single precision would round to steps.
    u = (tf.cast(number, tf.float64) + 0.5) * 2.0**-53
    return tf.cast(-tf.math.log(-tf.math.log1p(-u)), tf.float32)


def _state(seed: tf.Tensor, position: tf.Tensor, attempt: tf.Tensor | int) -> tf.Tensor:
    high = tf.bitwise.left_shift(tf.cast(attempt, tf.uint64), tf.constant(32, tf.uint64))
    return _mix(_mix(tf.bitcast(seed, tf.uint64)) + tf.cast(position, tf.uint64) + high)


def _mix(state: tf.Tensor) -> tf.Tensor:
    state += tf.constant(_WEYL, tf.uint64)
    for shift, factor in ((30, _MIX_1), (27, _MIX_2)):
        state = tf.bitwise.bitwise_xor(state, tf.bitwise.right_shift(state, tf.constant(shift, tf.uint64)))
        state *= tf.constant(factor, tf.uint64)
    return tf.bitwise.bitwise_xor(state, tf.bitwise.right_shift(state, tf.constant(31, tf.uint64)))
