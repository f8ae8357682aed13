"""Where positions of a row lie in the arenas."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from models.contract.manifest import ModelDims
from models.contract.signatures import NULL_BLOCK
from models.paged_cache import PagedCache

DIMS = ModelDims(
    vocab_size=10,
    hidden_size=8,
    intermediate_size=8,
    num_layers=2,
    num_heads=4,
    num_kv_heads=2,
    head_dim=4,
)
SIZE = 3


@pytest.fixture(scope="module")
def cache() -> PagedCache:
    cache = PagedCache(DIMS, num_blocks=12, block_size=SIZE)
    cache.reset()
    return cache


def test_blocks_cover_the_longest_row_and_no_more(cache: PagedCache):
    table = tf.constant([[4, 7, 9], [5, 0, 0]])
    for longest, columns in ((0, 0), (1, 1), (3, 1), (4, 2), (9, 3), (50, 3)):
        blocks = cache.blocks_of(table, tf.constant([longest, 0])).numpy()
        assert blocks.shape == (2, 2, columns, 2)
        for head in range(2):
            np.testing.assert_array_equal(blocks[:, head, :, 0], table[:, :columns])
            assert (blocks[:, head, :, 1] == head).all()


def test_slots_beyond_count_and_table_are_the_null_blocks(cache: PagedCache):
    table = tf.constant([[4, 7], [5, 8]])
    slots = cache.slots_of(table, tf.constant([2, 4]), tf.constant([3, 5]), 4).numpy()
    assert slots.shape == (2, 2, 4, 3)
    assert slots[0, 0, :, 0].tolist() == [4, 7, 7, NULL_BLOCK]
    assert slots[0, 0, :3, 2].tolist() == [2, 0, 1]
    assert slots[1, 1, :, 0].tolist() == [8, 8, NULL_BLOCK, NULL_BLOCK]
    assert slots[1, :, 0, 1].tolist() == [0, 1]


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_what_is_written_in_pieces_is_read_in_order(cache: PagedCache, data: st.DataObject):
    total = data.draw(st.integers(1, 3 * SIZE))
    blocks = data.draw(st.permutations(range(1, 12)))[:3]
    cuts = sorted(data.draw(st.sets(st.integers(0, total), max_size=3)) | {0, total})
    table = tf.constant([blocks])
    values = np.random.default_rng(total).normal(size=(1, 2, total, 4)).astype(np.float32)
    for low, high in itertools.pairwise(cuts):
        slots = cache.slots_of(table, tf.constant([low]), tf.constant([high - low]), high - low)
        cache.scatter(1, slots, tf.constant(values[:, :, low:high]), tf.constant(-values[:, :, low:high]))
    keys, negatives = cache.gather(1, cache.blocks_of(table, tf.constant([total])))
    np.testing.assert_array_equal(keys[:, :, :total], values)
    np.testing.assert_array_equal(negatives[:, :, :total], -values)
    assert keys.shape[2] == -(-total // SIZE) * SIZE
