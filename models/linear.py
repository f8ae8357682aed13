"""The product of a sequence's features with a matrix."""

from __future__ import annotations

import keras
import tensorflow as tf


def linear(x: tf.Tensor, kernel: keras.Variable | tf.Tensor, transpose: bool = False) -> tf.Tensor:
    """Product with a kernel over the last axis.

    Args:
        x: [B, T, in].
        kernel: [in, out], or [out, in] with `transpose`.

    Returns:
        [B, T, out].
    """
    matrix = tf.convert_to_tensor(kernel)
    # One product of B·T rows; a batched product would run B small ones.
    rows = tf.matmul(tf.reshape(x, [-1, x.shape[-1]]), matrix, transpose_b=transpose)
    return tf.reshape(rows, [tf.shape(x)[0], tf.shape(x)[1], matrix.shape[0 if transpose else 1]])
