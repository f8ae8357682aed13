"""Which ids a row may draw: temperature, top_k, top_p and min_p over a whole vocabulary, unsorted.

Ids are ordered by their logits, equal ones by id. All three filters keep a prefix of that order, so
each is a threshold: a logit, and the last of the ids that have exactly this logit.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from models.sampling.groups import locate, total
from models.sampling.sampling_rows import SamplingRows

_MAGNITUDE = 0x7FFFFFFF


class Prefix(NamedTuple):
    """The ids above a logit, and those equal to it up to an id; [B, 1] each."""

    logit: tf.Tensor
    last_id: tf.Tensor

    def holds(self, logits: tf.Tensor) -> tf.Tensor:
        """Which ids belong to it: [B, V] → [B, V] bool."""
        ids = tf.range(logits.shape[-1])[None]
        return (logits > self.logit) | ((logits == self.logit) & (ids <= self.last_id))


def kept_weights(logits: tf.Tensor, peak: tf.Tensor, rows: SamplingRows) -> tf.Tensor:
    """Weights to draw by, relative to the best id's: 0 where filtered.

    Args:
        logits: [B, V] float32.
        peak: [B, 1], the largest of each row.
        rows: sampling parameters; greedy rows count as of temperature 1.

    Returns:
        [B, V] float32.
    """
    weights = tf.exp((logits - peak) / rows.divisor)
    by_rank = (rows.top_k > 0) & (rows.top_k < logits.shape[-1])
    ones = tf.ones_like(weights)
    ranked = _prefix(logits, peak, ones, tf.where(by_rank, tf.cast(rows.top_k, tf.float32), float("inf")))
    weights = tf.where(ranked.holds(logits), weights, 0.0)
    mass = tf.where(rows.top_p < 1, rows.top_p * total(weights), float("inf"))
    nucleus = _prefix(logits, peak, weights, mass)
    return tf.where(nucleus.holds(logits) & (weights >= rows.min_p[:, None]), weights, 0.0)


def probabilities(logits: tf.Tensor, rows: SamplingRows) -> tf.Tensor:
    """The exact distribution tokens are drawn from, for checks: [B, V] → [B, V] float32.

    A greedy row has all its mass on its best id.
    """
    weights = kept_weights(logits, tf.reduce_max(logits, axis=1, keepdims=True), rows)
    best = tf.one_hot(tf.argmax(logits, axis=1), logits.shape[-1])
    return tf.where(rows.temperature[:, None] > 0, weights / total(weights)[:, None], best)


def _prefix(logits: tf.Tensor, peak: tf.Tensor, weights: tf.Tensor, limit: tf.Tensor) -> Prefix:
    """The ids before which, in the order, less than the limit [B] lies; infinite keeps all.

    Bisection over the float32 numbers in order of size, so that it ends at an exact logit after at
    most 32 looks; a row that has ended stays as it is while others go on.
    """
    high = _rank_of(peak)
    low = tf.where(tf.math.is_inf(limit)[:, None], high, _rank_of(tf.fill(tf.shape(peak), -float("inf"))))

    def above(logit: tf.Tensor) -> tf.Tensor:
        return total(tf.where(logits > logit, weights, 0.0))

    def halve(low: tf.Tensor, high: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        middle = _middle(low, high)
        enough = (above(_number_of(middle)) < limit)[:, None]
        return tf.where(enough, low, tf.minimum(middle + 1, high)), tf.where(enough, middle, high)

    _, found = tf.while_loop(
        lambda low, high: tf.reduce_any(low < high), halve, (low, high), maximum_iterations=33
    )
    logit = tf.where(tf.math.is_inf(limit)[:, None], -float("inf"), _number_of(found))
    return Prefix(logit, _last_of_equals(logits, logit, weights, limit - above(logit)))


def _last_of_equals(logits: tf.Tensor, logit: tf.Tensor, weights: tf.Tensor, room: tf.Tensor) -> tf.Tensor:
    """Of the ids with exactly this logit, the last before which less than the room [B] lies: [B, 1]."""
    equal = logits == logit
    count = total(tf.cast(equal, tf.float32))
    each = tf.reduce_max(tf.where(equal, weights, 0.0), axis=1)
    kept = tf.math.ceil(tf.math.divide_no_nan(room, each))
    share = (tf.minimum(kept, count) - 0.5) / tf.maximum(count, 1.0)
    last = locate(tf.cast(equal, tf.float32), share)
    return tf.where((each > 0) & (kept < count), last, logits.shape[-1])[:, None]


def _rank_of(number: tf.Tensor) -> tf.Tensor:
    """float32 → int32 of the same order."""
    bits = tf.bitcast(number, tf.int32)
    return tf.where(bits < 0, tf.bitwise.bitwise_xor(bits, _MAGNITUDE), bits)


def _number_of(rank: tf.Tensor) -> tf.Tensor:
    """The inverse of `_rank_of`."""
    return tf.bitcast(tf.where(rank < 0, tf.bitwise.bitwise_xor(rank, _MAGNITUDE), rank), tf.float32)


def _middle(low: tf.Tensor, high: tf.Tensor) -> tf.Tensor:
    """⌊(low + high) / 2⌋, which the sum of two int32 would overflow."""
    half = tf.bitwise.right_shift(tf.bitwise.bitwise_xor(low, high), 1)
    return tf.bitwise.bitwise_and(low, high) + half
