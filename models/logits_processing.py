"""What a request asks to change in the logits before a token is chosen from them."""

from __future__ import annotations

import tensorflow as tf

from models.contract.signatures import NO_ID

_WORD = 32


def process_logits(
    raw: tf.Tensor,
    history: tf.Tensor,
    generated_from: tf.Tensor,
    penalties: tf.Tensor,
    bias_ids: tf.Tensor,
    bias_values: tf.Tensor,
    allowed: tf.Tensor,
) -> tf.Tensor:
    """Vocabulary mask, biases, repetition penalty, frequency and presence penalties, in this order.

    Args:
        raw: [B, V] float32.
        history: [B, L] int32, ids of prompt and answer so far, filled up with NO_ID.
        generated_from: [B] int32, index in `history` where the answer begins.
        penalties: [B, 3] float32: repetition, frequency, presence; (1, 0, 0) changes nothing.
        bias_ids: [B, A] int32, filled up with NO_ID.
        bias_values: [B, A] float32.
        allowed: [B, W] int32; bit i of word w allows id 32 w + i, ids beyond the words are not
            allowed. No words, or a row without any bit, allow all ids: some id has to be made.

    Returns:
        [B, V] float32; minus infinity where an id is not allowed.

    Source: Keskar et al., "CTRL" (2019), for repetition; the others as OpenAI's API defines them.
    """
    logits = tf.cond(tf.shape(allowed)[1] > 0, lambda: _masked(raw, allowed), lambda: raw)
    logits += _sums(bias_ids, bias_values, raw)
    repetition, frequency, presence = tf.split(penalties, 3, axis=1)
    occurs = _sums(history, tf.ones_like(history, tf.float32), raw) > 0
    penalized = tf.where(logits > 0, logits / repetition, logits * repetition)
    logits = tf.where(occurs, penalized, logits)
    generated = tf.range(tf.shape(history)[1])[None] >= generated_from[:, None]
    count = _sums(history, tf.cast(generated, tf.float32), raw)
    return logits - frequency * count - presence * tf.cast(count > 0, tf.float32)


def _masked(logits: tf.Tensor, allowed: tf.Tensor) -> tf.Tensor:
    rows, size = tf.shape(logits)[0], logits.shape[1]
    bits = tf.bitwise.right_shift(allowed[:, :, None], tf.range(_WORD)[None, None]) & 1
    bits = tf.reshape(bits, [rows, -1])[:, :size]
    bits = tf.pad(bits, [[0, 0], [0, size - tf.shape(bits)[1]]]) > 0
    some = tf.reduce_any(bits, axis=1, keepdims=True)
    return tf.where(bits | ~some, logits, -float("inf"))


def _sums(ids: tf.Tensor, values: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Sum of the values [B, L] of each id: float32 in the shape of logits [B, V]."""
    filling = ids == NO_ID
    row = tf.broadcast_to(tf.range(tf.shape(ids)[0])[:, None], tf.shape(ids))
    index = tf.stack([row, tf.where(filling, 0, ids)], axis=-1)
    return tf.scatter_nd(index, tf.where(filling, 0.0, values), tf.shape(logits))
