"""Arenas: gather and scatter, and what the loader does with them."""

from __future__ import annotations

import gc

import numpy as np
import tensorflow as tf

from models.kv_arena import KVArena


def arena(name: str) -> KVArena:
    made = KVArena((5, 2, 3, 4), tf.float32, name)
    made.zero()
    return made


def test_what_is_scattered_is_gathered():
    kv = arena("arena_scatter")
    kv.scatter(tf.constant([[4, 1, 2], [0, 0, 0]]), tf.constant([[1.0, 2, 3, 4], [5, 6, 7, 8]]))
    found = kv.gather(tf.constant([[4, 1], [0, 0], [3, 1]])).numpy()
    assert found.shape == (3, 3, 4)
    assert found[0].tolist() == [[0] * 4, [0] * 4, [1, 2, 3, 4]]
    assert found[1, 0].tolist() == [5, 6, 7, 8]
    assert not found[2].any()


def test_blocks_are_copied_whole():
    kv = arena("arena_copy")
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    index = [[[1, head, offset] for offset in range(3)] for head in range(2)]
    kv.scatter(tf.constant(index), tf.constant(values))
    kv.copy(tf.constant([1, 1]), tf.constant([2, 4]))
    for block in (1, 2, 4):
        found = kv.gather(tf.constant([[block, 0], [block, 1]]))
        np.testing.assert_array_equal(found, values)


def test_a_copy_reads_all_its_sources_before_it_writes():
    kv = arena("arena_chain")
    for block in (1, 2):
        kv.scatter(tf.constant([[block, 0, 0]]), tf.fill([1, 4], float(block)))
    kv.copy(tf.constant([1, 2]), tf.constant([2, 3]))
    found = kv.gather(tf.constant([[1, 0], [2, 0], [3, 0]])).numpy()[:, 0, 0]
    assert found.tolist() == [1, 1, 2]


def test_no_pairs_copy_nothing():
    kv = arena("arena_none")
    kv.scatter(tf.constant([[1, 0, 0]]), tf.ones([1, 4]))
    kv.copy(tf.constant([], tf.int32), tf.constant([], tf.int32))
    assert kv.gather(tf.constant([[block, 0] for block in range(5)])).numpy().sum() == 4


def test_arenas_are_apart_and_zero_clears_one():
    one, two = arena("arena_one"), arena("arena_two")
    for kv in (one, two):
        kv.scatter(tf.constant([[1, 1, 1]]), tf.ones([1, 4]))
    one.zero()
    place = tf.constant([[1, 1]])
    assert not one.gather(place).numpy().any()
    assert two.gather(place).numpy().any()


def test_an_arena_is_saved_without_its_contents_and_loads_zeroed(tmp_path):
    root = tf.Module()
    root.kv = KVArena((1000, 2, 16, 8), tf.float32, "arena_saved")

    def touch(value: tf.Tensor) -> dict[str, tf.Tensor]:
        place = tf.constant([[7, 1]])
        before = root.kv.gather(place)[0, 3, 0]
        root.kv.scatter(tf.constant([[7, 1, 3]]), tf.fill([1, 8], value))
        return {"before": before}

    spec = tf.TensorSpec([], tf.float32, name="value")
    function = tf.function(touch, input_signature=[spec], autograph=False)
    tf.saved_model.save(root, str(tmp_path), {"touch": function.get_concrete_function()})
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert size < 100_000  # the arena itself has a megabyte

    for _ in range(2):
        loaded = tf.saved_model.load(str(tmp_path))
        call = loaded.signatures["touch"]
        assert call(value=tf.constant(2.0))["before"].numpy() == 0
        assert call(value=tf.constant(3.0))["before"].numpy() == 2
        del loaded, call
        gc.collect()
