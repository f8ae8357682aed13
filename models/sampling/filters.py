"""Which ids a row may draw: temperature, top_k, top_p and min_p over a whole vocabulary, unsorted.

Ids are ordered by their logits, equal ones by id. All three filters keep a prefix of that order, so
each is a threshold: a logit, and the last of the ids that have exactly this logit. Functions here
take one row: logits [V], scalars.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from models.sampling.groups import locate
from models.sampling.sampling_rows import SamplingRows

_MAGNITUDE = 0x7FFFFFFF
_INFINITY = float("inf")


class Prefix(NamedTuple):
    """The ids above a logit, and those equal to it up to an id."""

    logit: tf.Tensor
    last_id: tf.Tensor

    def holds(self, logits: tf.Tensor) -> tf.Tensor:
        """Which ids belong to it: [..., V] → [..., V] bool."""
        ids = tf.range(logits.shape[-1])
        return (logits > self.logit) | ((logits == self.logit) & (ids <= self.last_id))


def kept_weights(logits: tf.Tensor, peak: tf.Tensor, row: SamplingRows) -> tf.Tensor:
    """Weights to draw by, relative to the best id's: 0 where filtered.

    Args:
        logits: [V] float32.
        peak: the largest of them.
        row: sampling parameters, scalars; a greedy row counts as of temperature 1.

    Returns:
        [V] float32.
    """
    return kept_of_ranked(logits, peak, ranked_weights(logits, peak, row), row)


def ranked_weights(logits: tf.Tensor, peak: tf.Tensor, row: SamplingRows) -> tf.Tensor:
    """`kept_weights` before top_p and min_p: those of the top_k best ids."""
    weights = tf.exp((logits - peak) / row.divisor)
    return tf.cond(
        (row.top_k > 0) & (row.top_k < logits.shape[-1]),
        lambda: _within(logits, peak, weights, tf.ones_like(weights), tf.cast(row.top_k, tf.float32)),
        lambda: weights,
    )


def kept_of_ranked(logits: tf.Tensor, peak: tf.Tensor, ranked: tf.Tensor, row: SamplingRows) -> tf.Tensor:
    """`kept_weights` from `ranked_weights`: those within top_p and min_p, always the best id's."""
    weights = tf.cond(
        row.top_p < 1,
        lambda: _within(logits, peak, ranked, ranked, row.top_p * tf.reduce_sum(ranked)),
        lambda: ranked,
    )
    return tf.where(weights >= row.min_p, weights, 0.0)


def probabilities(logits: tf.Tensor, rows: SamplingRows) -> tf.Tensor:
    """The exact distribution tokens are drawn from, for checks: [B, V] → [B, V] float32.

    A greedy row has all its mass on its best id.
    """

    def of_row(fields: tuple[tf.Tensor, SamplingRows]) -> tf.Tensor:
        weights = kept_weights(fields[0], tf.reduce_max(fields[0]), fields[1])
        best = tf.one_hot(tf.argmax(fields[0]), logits.shape[-1])
        return tf.where(fields[1].temperature > 0, weights / tf.reduce_sum(weights), best)

    return tf.map_fn(of_row, (logits, rows), fn_output_signature=tf.float32)


def _within(
    logits: tf.Tensor, peak: tf.Tensor, weights: tf.Tensor, costs: tf.Tensor, limit: tf.Tensor
) -> tf.Tensor:
    """The weights [V] of the best id and of those before which, in the order, lie costs below the limit."""
    return tf.where(_prefix(logits, peak, costs, limit).holds(logits), weights, 0.0)


def _prefix(logits: tf.Tensor, peak: tf.Tensor, costs: tf.Tensor, limit: tf.Tensor) -> Prefix:
    """Bisection over the float32 numbers in order of size: exact after at most 32 looks."""

    def above(logit: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.where(logits > logit, costs, 0.0))

    def halve(low: tf.Tensor, high: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        middle = _middle(low, high)
        enough = above(_number_of(middle)) < limit
        return tf.where(enough, low, tf.minimum(middle + 1, high)), tf.where(enough, middle, high)

    bottom = _rank_of(tf.constant(-_INFINITY))
    _, found = tf.while_loop(
        lambda low, high: low < high, halve, (bottom, _rank_of(peak)), maximum_iterations=33
    )
    logit = _number_of(found)
    return Prefix(logit, _last_of_equals(logits == logit, costs, limit - above(logit)))


def _last_of_equals(equal: tf.Tensor, costs: tf.Tensor, room: tf.Tensor) -> tf.Tensor:
    """Of the ids of one logit, [V] bool, the last before which lie costs of less than the room.

    The first of them at least: a limit that is 0 to float32 keeps the best id.
    """
    each = tf.reduce_max(tf.where(equal, costs, 0.0))
    ones = tf.cast(equal, tf.float32)
    count = tf.reduce_sum(ones)
    kept = tf.maximum(tf.math.ceil(tf.math.divide_no_nan(room, each)), 1.0)
    last = locate(ones, (tf.minimum(kept, count) - 0.5) / tf.maximum(count, 1.0))
    return tf.where((each > 0) & (kept < count), last, equal.shape[0])


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
