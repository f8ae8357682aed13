"""locate: the inverse of a running sum."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from models.sampling.groups import locate


@pytest.mark.parametrize("size", [1, 63, 64, 65, 200])
def test_each_share_has_the_id_its_running_sum_says(size: int):
    weights = np.random.default_rng(size).integers(0, 3, size).astype(np.float32)
    weights[-1] = 1
    total = int(weights.sum())
    wanted = np.repeat(np.arange(size), weights.astype(int))
    shares = tf.constant((np.arange(total) + 0.5) / total, tf.float32)
    search = tf.function(
        lambda: tf.map_fn(lambda u: locate(tf.constant(weights), u), shares, fn_output_signature=tf.int32)
    )
    found = search()
    np.testing.assert_array_equal(found, wanted)


def test_the_last_share_stays_on_an_id_with_weight():
    weights = tf.constant([0.0, 0.1, 0.2, 0.3] + [0.0] * 96)
    assert int(locate(weights, tf.constant(np.float32(1 - 2**-24)))) == 3
    assert int(locate(weights, tf.constant(0.0))) == 1
    assert int(locate(tf.zeros([100]), tf.constant(0.5))) == 0
