"""Grouped-query attention and its masks."""

from __future__ import annotations

import tensorflow as tf

_MASKED = -1e9
"""Added to a masked score: finite, so that a row with nothing to see stays free of NaN."""


def causal_mask(
    length: tf.Tensor | int, segment_ids: tf.Tensor | None = None, window: int | None = None
) -> tf.Tensor:
    """Which position may see which, in a full sequence.

    Args:
        length: T.
        segment_ids: [B, T] int32; positions of different segments do not see each other, so that
            packed documents stay apart. None: one segment.
        window: positions that one sees at most, the nearest ones and itself; None: all before it.
            Source: Beltagy, Peters and Cohan, "Longformer" (2020).

    Returns:
        bool [1, T, T], or [B, T, T] with segments; True at [b, t, s] lets t see s.
    """
    position = tf.range(length)
    distance = position[:, None] - position[None]
    mask = inside(distance, window)[None]
    if segment_ids is None:
        return mask
    return mask & (segment_ids[:, :, None] == segment_ids[:, None, :])


def inside(distance: tf.Tensor, window: int | None) -> tf.Tensor:
    """Whether a key this many positions before the query is seen: int32 → bool, of any shape."""
    seen = distance >= 0
    return seen if window is None else seen & (distance < window)


def attend(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Scaled dot-product attention; each key and value head serves H / Hkv query heads.

    Source: Vaswani et al. (2017); grouped queries: Ainslie et al. (2023).

    Args:
        q: [B, H, T, D].
        k: [B, Hkv, L, D].
        v: [B, Hkv, L, D].
        mask: bool [B, T, L] or [1, T, L]; False hides a key.

    Returns:
        [B, H, T, D].
    """
    heads, kv_heads, width = q.shape[1], k.shape[1], q.shape[3]
    batch, length = tf.shape(q)[0], tf.shape(q)[2]
    group = heads // kv_heads
    # The query heads of one key head lie side by side: they become more rows of one product.
    rows = tf.reshape(q * (width**-0.5), [batch, kv_heads, group * length, width])
    scores = tf.reshape(
        tf.matmul(rows, k, transpose_b=True), [batch, kv_heads, group, length, tf.shape(k)[2]]
    )
    scores += tf.where(mask, 0.0, _MASKED)[:, None, None]
    weights = tf.reshape(tf.nn.softmax(scores), [batch, kv_heads, group * length, tf.shape(k)[2]])
    return tf.reshape(tf.matmul(weights, v), [batch, heads, length, width])
