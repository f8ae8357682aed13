"""The draw: the id whose log-weight plus its own Gumbel noise is largest.

A short list of the best ids takes part one by one, all others together, as one candidate with the
weight of their sum and noise of its own: the largest of many is distributed as one of their sum
(Maddison, Tarlow, Minka, "A* Sampling", 2014). Only if that one wins, which is rare, is it asked
which of them it was, and only then is a filter that reaches beyond the list looked at exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from models.contract.signatures import NO_ID
from models.sampling.filters import Prefix, kept_weights
from models.sampling.groups import locate, total
from models.sampling.noise import gumbel, uniform
from models.sampling.sampling_rows import SamplingRows

CANDIDATES = 64
"""Best ids that take part in a draw one by one."""


class _List(NamedTuple):
    """The C best of each row: logits and ids [B, C], their noise, and the others' noise [B]."""

    logits: tf.Tensor
    ids: tf.Tensor
    noise: tf.Tensor
    others_noise: tf.Tensor

    @property
    def peak(self) -> tf.Tensor:
        """The best logit, [B, 1]."""
        return self.logits[:, :1]

    def without(self, values: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        """Values [B, V] of the ids beyond the list, 0 on it; logits [B, V] are the ids' own."""
        return tf.where(Prefix(self.logits[:, -1:], self.ids[:, -1:]).holds(logits), 0.0, values)


def draw(
    logits: tf.Tensor, best: tf.Tensor, ids: tf.Tensor, rows: SamplingRows, position: tf.Tensor
) -> tf.Tensor:
    """A drawn id per row, the best one for greedy rows.

    Args:
        logits: [B, V] float32.
        best: [B, C], the C best of each row.
        ids: [B, C] int32, theirs.
        rows: sampling parameters.
        position: [B] int32, the position that the new token will have.

    Returns:
        [B] int32.
    """
    noise = gumbel(rows.seed, position, tf.pad(ids, [[0, 0], [0, 1]], constant_values=NO_ID))
    known = _List(best, ids, noise[:, :-1], noise[:, -1])
    others = total(known.without(tf.exp((logits - known.peak) / rows.divisor), logits))
    kept, reached = _kept_of_list(known, others, rows)
    column, others_win = _winner(known, kept, tf.where(reached, others, 0.0), rows)
    sampled = rows.temperature > 0
    chosen = tf.gather(ids, tf.where(sampled, column, 0), batch_dims=1)
    # What top_p leaves of the list is not known before top_k has been applied beyond it.
    unknown = (rows.top_k > best.shape[1]) & (rows.top_p < 1)
    beyond = sampled & (others_win | unknown)
    return tf.cond(
        tf.reduce_any(beyond),
        lambda: tf.where(beyond, _draw_of_all(logits, known, rows, position), chosen),
        lambda: chosen,
    )


def _kept_of_list(known: _List, others: tf.Tensor, rows: SamplingRows) -> tuple[tf.Tensor, tf.Tensor]:
    """Which of the list the filters keep, [B, C] bool, and whether they may keep others too, [B]."""
    width = known.logits.shape[1]
    top_k, top_p, min_p = rows.top_k[:, None], rows.top_p[:, None], rows.min_p[:, None]
    weights = tf.exp((known.logits - known.peak) / rows.divisor)
    limited = (top_k > 0) & (top_k <= width)
    in_k = ~limited | (tf.range(width)[None] < top_k)
    weights = tf.where(in_k, weights, 0.0)
    mass = tf.reduce_sum(weights, axis=1, keepdims=True) + tf.where(limited, 0.0, others[:, None])
    in_p = (top_p >= 1) | (tf.cumsum(weights, axis=1, exclusive=True) < top_p * mass)
    kept = in_k & in_p & (weights >= min_p)
    return kept, kept[:, -1] & ~limited[:, 0]


def _winner(
    known: _List, kept: tf.Tensor, others: tf.Tensor, rows: SamplingRows
) -> tuple[tf.Tensor, tf.Tensor]:
    """The list's column with the best score [B], and whether the others [B], taken together, beat it."""
    scores = (known.logits - known.peak) / rows.divisor + known.noise
    scores = tf.where(kept, scores, -float("inf"))
    together = tf.math.log(others) + known.others_noise
    return tf.argmax(scores, axis=1, output_type=tf.int32), together > tf.reduce_max(scores, axis=1)


def _draw_of_all(logits: tf.Tensor, known: _List, rows: SamplingRows, position: tf.Tensor) -> tf.Tensor:
    """The draw with the filters applied to every id.

    A row comes here if the others won with at least the weight they really have: with less, the list
    may win after all.
    """
    weights = kept_weights(logits, known.peak, rows)
    others = known.without(weights, logits)
    kept = tf.gather(weights, known.ids, batch_dims=1) > 0
    column, others_win = _winner(known, kept, total(others), rows)
    other = locate(others, uniform(rows.seed, position))
    return tf.where(others_win, other, tf.gather(known.ids, column, batch_dims=1))
