"""Sampling inside the graph, row by row.

All three filters keep a prefix of the ids in order of their logits, so a short list of the best ids
is enough for almost every draw; where it is not, and only for those rows, the vocabulary is sorted.
Which of the two is used depends on the row alone, hence so does its token.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from models.contract.signatures import NO_ID, TOP_LOGPROBS

CANDIDATES = 64
"""Best ids that are looked at before the whole vocabulary is."""

_WEYL = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB


class SamplingRows(NamedTuple):
    """How each row's token is chosen; ranges as in `models.contract.sampling_params`.

    Args:
        temperature: [B] float32; 0 is greedy.
        top_k: [B] int32; 0 keeps all.
        top_p: [B] float32.
        min_p: [B] float32.
        seed: [B] int64.
    """

    temperature: tf.Tensor
    top_k: tf.Tensor
    top_p: tf.Tensor
    min_p: tf.Tensor
    seed: tf.Tensor

    def take(self, index: tf.Tensor) -> SamplingRows:
        """The rows of an index [R]."""
        return SamplingRows(*(tf.gather(value, index) for value in self))


SAMPLING_DTYPES = SamplingRows(tf.float32, tf.int32, tf.float32, tf.float32, tf.int64)


class Sampled(NamedTuple):
    """One token per row. Log-probabilities are those of the raw logits.

    Args:
        id: [B] int32.
        logprob: [B] float32.
        top_ids: [B, 20] int32, best first; NO_ID where the vocabulary has fewer.
        top_logprobs: [B, 20] float32.
    """

    id: tf.Tensor
    logprob: tf.Tensor
    top_ids: tf.Tensor
    top_logprobs: tf.Tensor


SAMPLED_DTYPES = Sampled(tf.int32, tf.float32, tf.int32, tf.float32)
SAMPLED_SHAPES = Sampled([None], [None], [None, TOP_LOGPROBS], [None, TOP_LOGPROBS])


def uniform(seed: tf.Tensor, position: tf.Tensor) -> tf.Tensor:
    """A number in [0, 1) from a seed and a position, the same wherever it is computed.

    Source: SplitMix64 (Steele, Lea, Flood 2014), applied to the seed and then to the position.

    Args:
        seed: [B] int64.
        position: [B] int32.

    Returns:
        [B] float32, multiples of 2⁻²⁴.
    """
    state = _split_mix(tf.bitcast(seed, tf.uint64))
    state = _split_mix(state + tf.cast(position, tf.uint64))
    high = tf.bitwise.right_shift(state, tf.constant(40, tf.uint64))
    return tf.cast(tf.cast(high, tf.int32), tf.float32) * 2.0**-24


def _split_mix(state: tf.Tensor) -> tf.Tensor:
    state += tf.constant(_WEYL, tf.uint64)
    for shift, factor in ((30, _MIX_1), (27, _MIX_2)):
        state = tf.bitwise.bitwise_xor(state, tf.bitwise.right_shift(state, tf.constant(shift, tf.uint64)))
        state *= tf.constant(factor, tf.uint64)
    return tf.bitwise.bitwise_xor(state, tf.bitwise.right_shift(state, tf.constant(31, tf.uint64)))


def sample(
    raw_logits: tf.Tensor, rows: SamplingRows, position: tf.Tensor, logits: tf.Tensor | None = None
) -> Sampled:
    """Choose one token per row.

    Args:
        raw_logits: [B, V] float32, of which log-probabilities are reported.
        rows: sampling parameters.
        position: [B] int32, the position that the new token will have.
        logits: [B, V], what to choose from if masks, biases or penalties changed the raw logits.
    """
    size = raw_logits.shape[-1]
    count = min(CANDIDATES, size)
    best, best_ids = tf.math.top_k(raw_logits, k=max(count, min(TOP_LOGPROBS, size)))
    log_total = _log_sum_exp(raw_logits, best[:, :1])
    chosen_from = raw_logits if logits is None else logits
    candidates = (best, best_ids) if logits is None else tf.math.top_k(logits, k=count)
    chosen = tf.cond(
        tf.reduce_any(rows.temperature > 0),
        lambda: _draw(chosen_from, *candidates, rows, position),
        lambda: candidates[1][:, 0],
    )
    logprob = tf.gather(raw_logits, chosen, batch_dims=1) - log_total[:, 0]
    top_ids, top = best_ids[:, :TOP_LOGPROBS], best[:, :TOP_LOGPROBS] - log_total
    missing = [[0, 0], [0, max(0, TOP_LOGPROBS - size)]]
    return Sampled(
        chosen,
        logprob,
        tf.pad(top_ids, missing, constant_values=NO_ID),
        tf.pad(top, missing, constant_values=-float("inf")),
    )


def probabilities(logits: tf.Tensor, rows: SamplingRows) -> tf.Tensor:
    """The exact distribution tokens are drawn from, for checks: [B, V] → [B, V] float32.

    A greedy row has all its mass on its best id.
    """
    size = logits.shape[-1]
    ordered, ids = tf.math.top_k(logits, k=size)
    weights = _weights(ordered, _log_total(logits, ordered, rows), rows).kept
    weights /= tf.reduce_sum(weights, axis=-1, keepdims=True)
    weights = tf.where(rows.temperature[:, None] > 0, weights, tf.one_hot(tf.zeros_like(rows.top_k), size))
    index = tf.stack([tf.repeat(tf.range(tf.shape(ids)[0])[:, None], size, axis=1), ids], axis=-1)
    return tf.scatter_nd(index, weights, tf.shape(logits))


class _Weights(NamedTuple):
    """kept [B, C]: weight of each id in order, 0 where filtered; complete [B]: none is missing."""

    kept: tf.Tensor
    complete: tf.Tensor


def _log_sum_exp(x: tf.Tensor, largest: tf.Tensor) -> tf.Tensor:
    """log Σ exp over the last axis, kept, its largest values [B, 1] being known already."""
    return tf.math.log(tf.reduce_sum(tf.exp(x - largest), axis=-1, keepdims=True)) + largest


def _log_total(logits: tf.Tensor, ordered: tf.Tensor, rows: SamplingRows) -> tf.Tensor:
    divisor = _divisor(rows)
    return _log_sum_exp(logits / divisor, ordered[:, :1] / divisor)


def _divisor(rows: SamplingRows) -> tf.Tensor:
    return tf.where(rows.temperature > 0, rows.temperature, 1.0)[:, None]


def _weights(ordered: tf.Tensor, log_total: tf.Tensor, rows: SamplingRows) -> _Weights:
    """Temperature, top_k, top_p and min_p over the best ids, [B, C] in descending order.

    Weights are relative to what top_k leaves; `complete` says that the filters cut within them.
    """
    width = ordered.shape[-1]
    p = tf.exp(ordered / _divisor(rows) - log_total)
    top_k, top_p, min_p = rows.top_k[:, None], rows.top_p[:, None], rows.min_p[:, None]
    limited = (top_k > 0) & (top_k <= width)
    p = tf.where(limited & (tf.range(width)[None] >= top_k), 0.0, p)
    p = tf.where(limited, p / tf.reduce_sum(p, axis=-1, keepdims=True), p)
    before = tf.cumsum(p, axis=-1, exclusive=True)
    in_p = (top_p >= 1) | (before < top_p)
    in_min = p >= min_p * p[:, :1]
    cut = limited | ~in_p[:, -1:] | ~in_min[:, -1:]
    return _Weights(tf.where(in_p & in_min, p, 0.0), (cut & ((top_k == 0) | limited))[:, 0])


def _pick(weights: tf.Tensor, total: tf.Tensor, u: tf.Tensor) -> tf.Tensor:
    """Inverse CDF: the first column whose running sum exceeds u · total; [B, C] → [B] int32."""
    below = tf.cumsum(weights, axis=-1) <= (u * total)[:, None]
    last = tf.reduce_sum(tf.cast(weights > 0, tf.int32), axis=-1) - 1
    return tf.clip_by_value(tf.reduce_sum(tf.cast(below, tf.int32), axis=-1), 0, tf.maximum(last, 0))


def _draw(
    logits: tf.Tensor, best: tf.Tensor, best_ids: tf.Tensor, rows: SamplingRows, position: tf.Tensor
) -> tf.Tensor:
    """A drawn id per row, the best one for greedy rows: [B] int32."""
    u = uniform(rows.seed, position)
    log_total = _log_total(logits, best, rows)
    weights, complete = _weights(best, log_total, rows)
    mass = tf.reduce_sum(weights, axis=-1)
    # Without any filter the weights sum to 1 over the vocabulary, known without sorting it.
    unfiltered = (rows.top_k == 0) & (rows.top_p >= 1) & (rows.min_p <= 0)
    total = tf.where(unfiltered & ~complete, 1.0, mass)
    known = complete | (unfiltered & (u < mass)) | (rows.temperature <= 0)
    column = tf.where(rows.temperature > 0, _pick(weights, total, u), 0)
    chosen = tf.gather(best_ids, column, batch_dims=1)
    rest = tf.where(~known)[:, 0]
    return tf.cond(
        tf.size(rest) > 0,
        lambda: tf.tensor_scatter_nd_update(
            chosen, rest[:, None], _draw_sorted(tf.gather(logits, rest), rows.take(rest), tf.gather(u, rest))
        ),
        lambda: chosen,
    )


def _draw_sorted(logits: tf.Tensor, rows: SamplingRows, u: tf.Tensor) -> tf.Tensor:
    """The exact draw over the sorted vocabulary: [R, V] → [R] int32."""
    ordered, ids = tf.math.top_k(logits, k=logits.shape[-1])
    weights = _weights(ordered, _log_total(logits, ordered, rows), rows).kept
    column = _pick(weights, tf.reduce_sum(weights, axis=-1), u)
    return tf.gather(ids, column, batch_dims=1)
