"""The best ids of each row, without sorting the row."""

from __future__ import annotations

import tensorflow as tf

from models.sampling.groups import WIDTH, grouped


def best_ids(logits: tf.Tensor, k: int) -> tuple[tf.Tensor, tf.Tensor]:
    """What `tf.math.top_k` returns, equal logits in the order of their ids too, in less time.

    Only the k groups of ids with the best maxima can hold one of the k best ids: whatever lies in
    another group has k better ones, one in each. Groups of neighbours make this true of equal logits
    as well.

    Args:
        logits: [B, V] float32. A row with NaN gives ids of the vocabulary, in no order promised.
        k: how many, at most V.

    Returns:
        Logits [B, k], best first, and ids [B, k] int32.
    """
    size = logits.shape[-1]
    if size <= 2 * k * WIDTH:
        return _top_k(logits, k)
    groups = grouped(logits, -float("inf"))
    best_groups = tf.sort(_top_k(tf.reduce_max(groups, axis=2), k)[1], axis=1)
    members = tf.reshape(tf.gather(groups, best_groups, batch_dims=1), [-1, k * WIDTH])
    best, column = _top_k(members, k)
    ids = tf.gather(best_groups, column // WIDTH, batch_dims=1) * WIDTH + column % WIDTH
    return best, tf.minimum(ids, size - 1)


def _top_k(x: tf.Tensor, k: int) -> tuple[tf.Tensor, tf.Tensor]:
    """`tf.math.top_k` whose values may be sliced.

    XLA has a selection for it, but finds it only as long as nobody takes a part of the values: the
    two slices become one and what is left is a sort of the row, 20 times as long. So they are looked
    up by the ids.
    """
    _, ids = tf.math.top_k(x, k=k)
    return tf.gather(x, ids, batch_dims=1), ids
