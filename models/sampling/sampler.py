"""One token per row, with its log-probability and the best alternatives."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from models.contract.signatures import NO_ID, TOP_LOGPROBS
from models.sampling.best_ids import best_ids
from models.sampling.draw import CANDIDATES, draw
from models.sampling.sampling_rows import SamplingRows


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


def sample(
    raw_logits: tf.Tensor, rows: SamplingRows, position: tf.Tensor, logits: tf.Tensor | None = None
) -> Sampled:
    """Choose one token per row; works inside XLA too.

    Args:
        raw_logits: [B, V] float32, of which log-probabilities are reported. A row with NaN gives an id
            of the vocabulary, which one is not promised.
        rows: sampling parameters.
        position: [B] int32, the position that the new token will have.
        logits: [B, V], what to choose from if masks, biases or penalties changed the raw logits.
    """
    size = raw_logits.shape[-1]
    best, ids = best_ids(raw_logits, min(CANDIDATES, size))
    sums = tf.reduce_sum(tf.exp(raw_logits - best[:, :1]), axis=1, keepdims=True)
    log_total = tf.math.log(sums) + best[:, :1]
    chosen_from = raw_logits if logits is None else logits
    candidates = (best, ids) if logits is None else best_ids(logits, min(CANDIDATES, size))
    chosen = tf.cond(
        tf.reduce_any(rows.temperature > 0),
        lambda: draw(chosen_from, *candidates, rows, position),
        lambda: candidates[1][:, 0],
    )
    logprob = tf.gather(raw_logits, chosen, batch_dims=1) - log_total[:, 0]
    missing = [[0, 0], [0, max(0, TOP_LOGPROBS - size)]]
    return Sampled(
        chosen,
        logprob,
        tf.pad(ids[:, :TOP_LOGPROBS], missing, constant_values=NO_ID),
        tf.pad(best[:, :TOP_LOGPROBS] - log_total, missing, constant_values=-float("inf")),
    )
