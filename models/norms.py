"""The two norms of decoder families, over the last axis."""

from __future__ import annotations

import tensorflow as tf


def rms_norm(x: tf.Tensor, scale: tf.Tensor, eps: float) -> tf.Tensor:
    """Divide by the root mean square. Source: Zhang and Sennrich (2019).

    Args:
        x: [..., E].
        scale: [E].
        eps: added to the mean square.
    """
    mean_square = tf.reduce_mean(tf.square(x), axis=-1, keepdims=True)
    return x * tf.math.rsqrt(mean_square + eps) * scale


def layer_norm(x: tf.Tensor, scale: tf.Tensor, bias: tf.Tensor, eps: float) -> tf.Tensor:
    """Subtract the mean, divide by the deviation. Source: Ba, Kiros and Hinton (2016).

    Args:
        x: [..., E].
        scale: [E].
        bias: [E].
        eps: added to the variance.
    """
    centred = x - tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
    scaled = centred * tf.math.rsqrt(variance + eps) * scale
    return scaled + bias
