"""Split attention against attention over the joined context."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from models.attention import attend
from models.paged_attention import Prefix, View, attend_prefix_and_tail, prefix_bias, view


@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 4), (6, 2), (3, 1)])
@pytest.mark.parametrize(("prefix", "tail"), [(0, 1), (5, 1), (8, 3)])
def test_it_equals_attention_over_the_joined_context(heads: int, kv_heads: int, prefix: int, tail: int):
    random = np.random.default_rng(prefix + tail)

    def draw(*shape: int) -> tf.Tensor:
        return tf.constant(random.normal(size=shape), tf.float32)

    q = draw(3, heads, 1, 8)
    old = (draw(3, kv_heads, prefix, 8), draw(3, kv_heads, prefix, 8))
    new = (draw(3, kv_heads, tail, 8), draw(3, kv_heads, tail, 8))
    live = tf.range(prefix)[None] < tf.constant([0, prefix // 2, prefix])[:, None]
    found = attend_prefix_and_tail(q, old, View(prefix_bias(live)), new)
    mask = tf.concat([live, tf.ones([3, tail], tf.bool)], axis=1)[:, None]
    keys, values = (tf.concat(pair, axis=2) for pair in zip(old, new, strict=True))
    np.testing.assert_allclose(found, attend(q, keys, values, mask), atol=1e-5)


@pytest.mark.parametrize("window", [1, 2, 4, 6, 20, None])
def test_a_window_cuts_prefix_and_tail(window: int | None):
    """Rows of 5 and 2 cached tokens, the second padded; the tail's third token looks."""
    lengths, tail = np.array([5, 2]), 3
    positions = tf.range(6)[None]
    prefix = Prefix([], [], prefix_bias(positions < lengths[:, None]), positions)
    seen = view(prefix, tf.constant(lengths + tail - 1, tf.int32), tf.constant(tail), window)
    reach = 99 if window is None else window
    for row, length in enumerate(lengths):
        now = length + tail - 1
        wanted = [position < length and now - position < reach for position in range(6)]
        assert (seen.prefix[row, 0, 0].numpy() == 0).tolist() == wanted
    visible = [True] * tail if seen.tail is None else (seen.tail.numpy() == 0).tolist()
    assert visible == [tail - 1 - step < reach for step in range(tail)]
