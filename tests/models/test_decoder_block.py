from __future__ import annotations

from dataclasses import replace

import keras
import numpy as np
import tensorflow as tf

from models.attention import attend, causal_mask
from models.decoder_block import DecoderBlock
from models.linear import linear
from tests.tiny import TINY

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(2, 5, TINY.hidden_size)).astype(np.float32)
POSITIONS = np.arange(5, dtype=np.int32)[None]


def test_linear_multiplies_the_last_axis_by_the_kernel_or_its_transpose():
    kernel = RANDOM.normal(size=(TINY.hidden_size, 3)).astype(np.float32)
    np.testing.assert_allclose(linear(X, keras.Variable(kernel)), X @ kernel, atol=1e-5)
    np.testing.assert_allclose(linear(X, keras.Variable(kernel.T), transpose=True), X @ kernel, atol=1e-5)


def test_project_gives_heads_of_the_configured_sizes():
    q, k, v = DecoderBlock(TINY).project(X, POSITIONS)
    assert q.shape == (2, TINY.num_heads, 5, TINY.head_dim)
    assert k.shape == v.shape == (2, TINY.num_kv_heads, 5, TINY.head_dim)


def test_values_carry_no_position_but_queries_and_keys_do():
    block = DecoderBlock(TINY)
    (q, k, v), (q2, k2, v2) = block.project(X, POSITIONS), block.project(X, POSITIONS + 3)
    np.testing.assert_array_equal(v, v2)
    assert np.abs(q - q2).max() > 1e-3
    assert np.abs(k - k2).max() > 1e-3


def test_the_block_is_its_parts_with_attention_between():
    block = DecoderBlock(TINY)
    mask = causal_mask(5)
    q, k, v = block.project(X, POSITIONS)
    np.testing.assert_array_equal(block(X, POSITIONS, mask), block.finish(X, attend(q, k, v, mask)))


def test_an_adapter_is_added_to_the_product_of_its_kernel():
    block = DecoderBlock(TINY)
    plain = block.project(X, POSITIONS)[2].numpy()
    block.adapters["query_key_value"] = lambda x: tf.ones([*x.shape[:2], 64])
    np.testing.assert_allclose(block.project(X, POSITIONS)[2], plain + 1, atol=1e-6)


def test_learned_positions_leave_queries_and_keys_alone():
    block = DecoderBlock(replace(TINY, family="gpt2", num_kv_heads=4))
    for first, second in zip(block.project(X, POSITIONS), block.project(X, POSITIONS + 3), strict=True):
        np.testing.assert_array_equal(first, second)
