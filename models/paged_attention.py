"""Attention of one new token over a fixed prefix and a growing tail, without joining the two.

A decode step that concatenated prefix and tail would copy the whole live context every step; here
only scores are joined, which are head_dim times smaller.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from models.attention import inside

_MASKED = -1e9


class Prefix(NamedTuple):
    """Keys and values that stay as they are during a decode call.

    Args:
        keys: per layer [B, Hkv, P, D].
        values: per layer [B, Hkv, P, D].
        bias: [B, 1, 1, P] float32, added to scores: 0, or hugely negative where a row has no token.
        positions: [B, P] or [1, P] int32, of the tokens in their row; matter to layers with a window.
    """

    keys: list[tf.Tensor]
    values: list[tf.Tensor]
    bias: tf.Tensor
    positions: tf.Tensor


class View(NamedTuple):
    """What one position sees of prefix and tail: numbers added to its scores.

    Args:
        prefix: [B, 1, 1, P] float32.
        tail: [S] float32, or None if it sees all of it.
    """

    prefix: tf.Tensor
    tail: tf.Tensor | None = None


def view(
    prefix: Prefix, position: tf.Tensor, steps: tf.Tensor, window: int | None, places: int | None = None
) -> View:
    """What the position after prefix and tail sees, in a layer with this window or none.

    Args:
        prefix: what the tail follows.
        position: [B] int32, the position's number in its row.
        steps: scalar int32, tokens in the tail, the last of which is the position itself.
        window: positions seen at most, itself counted.
        places: S, length of the tail if it is longer than `steps`.
    """
    if window is None and places is None:
        return View(prefix.bias)
    distance = steps - 1 - tf.range(steps if places is None else places)
    tail = tf.where(inside(distance, window), 0.0, _MASKED)
    if window is None:
        return View(prefix.bias, tail)
    near = inside(position[:, None] - prefix.positions, window)
    return View(prefix.bias + prefix_bias(near), tail)


def prefix_bias(mask: tf.Tensor) -> tf.Tensor:
    """What to add to the scores of a prefix: mask [B, P] bool → [B, 1, 1, P] float32."""
    return tf.where(mask, 0.0, _MASKED)[:, None, None]


def attend_prefix_and_tail(
    q: tf.Tensor, prefix: tuple[tf.Tensor, tf.Tensor], seen: View, tail: tuple[tf.Tensor, tf.Tensor]
) -> tf.Tensor:
    """Grouped-query attention of one position over prefix and tail.

    Args:
        q: [B, H, 1, D].
        prefix: keys and values [B, Hkv, P, D]; P may be 0.
        seen: what the position sees.
        tail: keys and values [B, Hkv, S, D], the position's own last; S ≥ 1.

    Returns:
        [B, H, 1, D]; equal to `models.attention.attend` over the joined context up to rounding.
    """
    heads, kv_heads, width = q.shape[1], tail[0].shape[1], q.shape[3]
    batch, old = tf.shape(q)[0], tf.shape(prefix[0])[2]
    # With one position a head, the query heads of one key head are the rows of one product.
    rows = tf.reshape(q * (width**-0.5), [batch, kv_heads, heads // kv_heads, width])
    prefix_scores = tf.matmul(rows, prefix[0], transpose_b=True) + seen.prefix
    tail_scores = tf.matmul(rows, tail[0], transpose_b=True)
    if seen.tail is not None:
        tail_scores += seen.tail
    weights = tf.nn.softmax(tf.concat([prefix_scores, tail_scores], axis=-1))
    mixed = tf.matmul(weights[..., :old], prefix[1]) + tf.matmul(weights[..., old:], tail[1])
    return tf.reshape(mixed, [batch, heads, 1, width])
