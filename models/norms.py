"""The two norms of decoder families, over the last axis."""

from __future__ import annotations

import keras
import tensorflow as tf


def rms_norm(x: tf.Tensor, scale: keras.Variable, eps: float) -> tf.Tensor:
    """Divide by the root mean square. Source: Zhang and Sennrich (2019).

    Args:
        x: [..., E].
        scale: [E].
        eps: added to the mean square.
    """
    mean_square = tf.reduce_mean(tf.square(x), axis=-1, keepdims=True)
    return x * tf.math.rsqrt(mean_square + eps) * tf.convert_to_tensor(scale)


def layer_norm(x: tf.Tensor, scale: keras.Variable, bias: keras.Variable, eps: float) -> tf.Tensor:
    """Subtract the mean, divide by the deviation. Source: Ba, Kiros and Hinton (2016).

    Args:
        x: [..., E].
        scale: [E].
        bias: [E].
        eps: added to the variance.
    """
    centred = x - tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
    scaled = centred * tf.math.rsqrt(variance + eps) * tf.convert_to_tensor(scale)
    return scaled + tf.convert_to_tensor(bias)
