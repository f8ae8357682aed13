"""best_ids: the same as a top_k, ties too, compiled or not."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from models.sampling import best_ids

SIZE = 1500
_COMPILED = {
    k: tf.function(
        lambda logits, k=k: best_ids(logits, k),
        jit_compile=True,
        autograph=False,
        input_signature=[tf.TensorSpec([None, SIZE], tf.float32)],
    )
    for k in (1, 7)
}


def _wanted(logits: np.ndarray, k: int) -> np.ndarray:
    return np.argsort(-logits, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("compiled", [False, True])
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    levels=st.sampled_from([1, 2, 5, 40, 10**6]),
    k=st.sampled_from([1, 7]),
    barred=st.sampled_from([0.0, 0.9, 1.0]),
)
def test_ids_are_those_of_a_stable_sort(compiled: bool, seed: int, levels: int, k: int, barred: float):
    rng = np.random.default_rng(seed)
    logits = rng.integers(-levels, levels, (2, SIZE)).astype(np.float32)
    logits[rng.random(logits.shape) < barred] = -np.inf
    best, ids = (_COMPILED[k] if compiled else lambda x: best_ids(x, k))(tf.constant(logits))
    np.testing.assert_array_equal(ids, _wanted(logits, k))
    np.testing.assert_array_equal(best, np.take_along_axis(logits, ids.numpy(), axis=1))


@pytest.mark.parametrize("size", [1, 63, 64, 65, 127, 2000])
def test_any_size_of_vocabulary(size: int):
    logits = np.random.default_rng(size).integers(0, 9, (3, size)).astype(np.float32)
    k = min(5, size)
    np.testing.assert_array_equal(best_ids(tf.constant(logits), k)[1], _wanted(logits, k))


def test_nan_gives_ids_of_the_vocabulary():
    ids = best_ids(tf.fill([1, 1501], float("nan")), 7)[1].numpy()
    assert ((ids >= 0) & (ids < 1501)).all()
