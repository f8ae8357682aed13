"""Split attention against attention over the joined context."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from models.attention import attend
from models.paged_attention import View, attend_prefix_and_tail, prefix_bias


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
