"""The draw: the id whose log-weight plus its own Gumbel noise is largest.

A short list of the best ids takes part one by one, all others together, as one candidate with the
weight of their sum and noise of its own: the largest of many is distributed as one of their sum
(Maddison, Tarlow, Minka, "A* Sampling", 2014). Only if that one wins, which is rare, is it asked
which of them it was, and only then is a filter that reaches beyond the list looked at exactly:
top_k and min_p take their ids out first, top_p rejects what was drawn, and the row draws again, a few
times at most before what top_p keeps is worked out.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from models.contract.signatures import NO_ID
from models.sampling.filters import Prefix, kept_of_ranked, ranked_weights
from models.sampling.groups import locate
from models.sampling.noise import gumbel, uniform
from models.sampling.sampling_rows import SamplingRows

CANDIDATES = 64
"""Best ids that take part in a draw one by one."""

ATTEMPTS = 4
"""Draws that top_p may reject before bisection, which costs about as much as so many, ends them."""


class _List(NamedTuple):
    """The C best ids: ids, logits, log-weights relative to the best and noise [B, C]; others' noise [B].

    One row of it has no B.
    """

    ids: tf.Tensor
    logits: tf.Tensor
    log_weights: tf.Tensor
    noise: tf.Tensor
    others_noise: tf.Tensor


class _Pool(NamedTuple):
    """What one row draws from: which of the list [C] bool, the other ids' weights [V], their sum."""

    kept: tf.Tensor
    others: tf.Tensor
    total: tf.Tensor


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
    log_weights = (best - best[:, :1]) / rows.divisor[:, None]
    known = _List(ids, best, log_weights, noise[:, :-1], noise[:, -1])
    limited = (rows.top_k > 0) & (rows.top_k <= best.shape[1])
    sampled = rows.temperature > 0
    others = tf.cond(
        tf.reduce_any(sampled & ~limited),
        lambda: _weight_of_others(logits, known, rows),
        lambda: tf.zeros_like(rows.top_p),
    )
    kept, reached = _kept_of_list(known, tf.where(limited, 0.0, others), rows)
    column, others_win = _winner(known, kept, tf.where(reached & ~limited, others, 0.0))
    chosen = tf.gather(ids, tf.where(sampled, column, 0), batch_dims=1)
    # What top_p leaves of the list is not known before top_k has been applied beyond it.
    unknown = (rows.top_k > best.shape[1]) & (rows.top_p < 1)
    beyond = sampled & (others_win | unknown)
    return _redrawn(chosen, beyond, logits, known, rows, position)


def _weight_of_others(logits: tf.Tensor, known: _List, rows: SamplingRows) -> tf.Tensor:
    """Sum of the weights beyond the list, no filter applied: [B]."""
    weights = tf.exp((logits - known.logits[:, :1]) / rows.divisor[:, None])
    listed = Prefix(known.logits[:, -1:], known.ids[:, -1:])
    return tf.reduce_sum(tf.where(listed.holds(logits), 0.0, weights), axis=1)


def _kept_of_list(known: _List, others: tf.Tensor, rows: SamplingRows) -> tuple[tf.Tensor, tf.Tensor]:
    """Which of the list the filters keep, [B, C] bool, and whether all of it is kept, [B].

    `others` [B] is the weight beyond the list that top_k leaves. The best id is always kept.
    """
    width = known.ids.shape[1]
    top_p = rows.top_p[:, None]
    rank = tf.range(width)[None]
    in_k = (rows.top_k == 0)[:, None] | (rank < rows.top_k[:, None])
    weights = tf.where(in_k, tf.exp(known.log_weights), 0.0)
    mass = tf.reduce_sum(weights, axis=1, keepdims=True) + others[:, None]
    before = tf.cumsum(weights, axis=1, exclusive=True)
    in_p = (top_p >= 1) | (rank == 0) | (before < top_p * mass)
    kept = in_k & in_p & (weights >= rows.min_p[:, None])
    return kept, kept[:, -1]


def _winner(known: _List, kept: tf.Tensor, others: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The column of the list with the best score, and whether the others taken together beat it."""
    scores = tf.where(kept, known.log_weights + known.noise, -float("inf"))
    together = tf.math.log(others) + known.others_noise
    return tf.argmax(scores, axis=-1, output_type=tf.int32), together > tf.reduce_max(scores, axis=-1)


def _redrawn(
    chosen: tf.Tensor,
    beyond: tf.Tensor,
    logits: tf.Tensor,
    known: _List,
    rows: SamplingRows,
    position: tf.Tensor,
) -> tf.Tensor:
    """The ids [B] with those of the rows `beyond` drawn again, one after another: few rows need it."""
    count = tf.shape(chosen)[0]

    def body(index: tf.Tensor, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        def again() -> tf.Tensor:
            row, of_list = (type(x)(*(value[index] for value in x)) for x in (rows, known))
            made = _draw_of_all(logits[index], of_list, row, position[index])
            return tf.ensure_shape(tf.where(tf.range(count) == index, made, ids), ids.shape)

        return index + 1, tf.cond(beyond[index], again, lambda: ids)

    def redraw() -> tf.Tensor:
        return tf.while_loop(
            lambda index, _: index < count, body, (tf.constant(0), chosen), parallel_iterations=1
        )[1]

    return tf.cond(tf.reduce_any(beyond), redraw, lambda: chosen)


def _draw_of_all(logits: tf.Tensor, known: _List, row: SamplingRows, position: tf.Tensor) -> tf.Tensor:
    """One row's draw with the filters applied to every id; logits [V].

    A row comes here if the others won with at least the weight they really have: with less, the list
    may win after all. What top_p does not keep is rejected, which leaves the rest as likely as they
    were to each other. After `ATTEMPTS` in vain what it keeps is found by bisection and drawn from
    with noise of its own, which has the same distribution as going on would have.
    """
    peak = known.logits[0]
    ranked = ranked_weights(logits, peak, row)
    limit = row.top_p * tf.reduce_sum(ranked)
    pool = _pool(logits, known, tf.where(ranked >= row.min_p, ranked, 0.0))

    def beyond_top_p(made: tf.Tensor) -> tf.Tensor:
        preceding = Prefix(tf.gather(logits, made), made - 1).holds(logits)
        before = tf.reduce_sum(tf.where(preceding, ranked, 0.0))
        # Before the best id lies nothing, and that one is kept even if the limit is 0 to float32.
        return (before > 0) & (before >= limit)

    def attempt(number: tf.Tensor, _: tf.Tensor, __: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        made = _drawn(pool, known, row, position, number)
        rejected = tf.cond(row.top_p < 1, lambda: beyond_top_p(made), lambda: tf.constant(False))
        return number + 1, rejected, made

    def exactly() -> tf.Tensor:
        kept = _pool(logits, known, kept_of_ranked(logits, peak, ranked, row))
        return _drawn(kept, known, row, position, tf.constant(ATTEMPTS))

    _, rejected, made = tf.while_loop(
        lambda number, rejected, _: rejected & (number < ATTEMPTS),
        attempt,
        (tf.constant(0), tf.constant(True), tf.constant(0)),
        parallel_iterations=1,
    )
    return tf.cond(rejected, exactly, lambda: made)


def _pool(logits: tf.Tensor, known: _List, weights: tf.Tensor) -> _Pool:
    """The list and the others by their weights [V], 0 where filtered."""
    others = tf.where(Prefix(known.logits[-1], known.ids[-1]).holds(logits), 0.0, weights)
    return _Pool(tf.gather(weights, known.ids) > 0, others, tf.reduce_sum(others))


def _drawn(pool: _Pool, known: _List, row: SamplingRows, position: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
    """One row's id drawn from a pool with the noise of an attempt."""
    noisy = _with_noise(known, row.seed, position, number)
    column, others_win = _winner(noisy, pool.kept, pool.total)
    u = uniform(row.seed, position, number)
    return tf.cond(others_win, lambda: locate(pool.others, u), lambda: tf.gather(known.ids, column))


def _with_noise(known: _List, seed: tf.Tensor, position: tf.Tensor, attempt: tf.Tensor) -> _List:
    """One row's list with the noise of an attempt."""
    ids = tf.pad(known.ids, [[0, 1]], constant_values=NO_ID)
    noise = gumbel(seed[None], position[None], ids[None], attempt)[0]
    return known._replace(noise=noise[:-1], others_noise=noise[-1])
