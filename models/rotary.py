"""Rotary positions, in the half-split convention of Hugging Face's Llama.

Source: Su et al., "RoFormer" (2021); the halves of a head, not neighbouring pairs, are rotated.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf


def rotary_angles(positions: tf.Tensor, head_dim: int, theta: float) -> tuple[tf.Tensor, tf.Tensor]:
    """Cosine and sine of every position's angles.

    Args:
        positions: [B, T] int32.
        head_dim: width D of a head.
        theta: base of the frequencies.

    Returns:
        Two float32 tensors [B, 1, T, D / 2], to broadcast over heads.
    """
    frequencies = theta ** (-np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim))
    angles = tf.cast(positions, tf.float32)[:, None, :, None] * frequencies.astype(np.float32)
    return tf.cos(angles), tf.sin(angles)


def rotate(x: tf.Tensor, angles: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
    """Rotate queries or keys by their positions.

    Args:
        x: [B, H, T, D].
        angles: from `rotary_angles`.

    Returns:
        [B, H, T, D], the dtype of x.
    """
    cos, sin = (tf.cast(angle, x.dtype) for angle in angles)
    first, second = tf.split(x, 2, axis=-1)
    return tf.concat([first * cos - second * sin, second * cos + first * sin], axis=-1)
