"""Filters against their definition over a sorted row, equal logits and all."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from models.sampling import SAMPLING_DTYPES, SamplingRows, probabilities

SIZE = 70
_ROWS = SamplingRows(*(tf.TensorSpec([1], dtype) for dtype in SAMPLING_DTYPES))
_SPECS = [tf.TensorSpec([1, SIZE], tf.float32), _ROWS]
_FOUND = {
    compiled: tf.function(probabilities, input_signature=_SPECS, jit_compile=compiled, autograph=False)
    for compiled in (False, True)
}


def _defined(logits: np.ndarray, temperature: float, top_k: int, top_p: float, min_p: float) -> np.ndarray:
    """The definition, in double precision: filters one after another over the ids in order."""
    order = np.argsort(-logits, kind="stable")
    weights = np.exp((logits[order].astype(np.float64) - logits.max()) / temperature)
    if top_k:
        weights[top_k:] = 0
    shares = weights / weights.sum()
    before = np.cumsum(shares) - shares
    weights[(weights < min_p) | ((before >= top_p) & (top_p < 1))] = 0
    result = np.zeros_like(weights)
    result[order] = weights / weights.sum()
    return result


@pytest.mark.parametrize("compiled", [False, True])
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    equal=st.booleans(),
    temperature=st.sampled_from([0.3, 1.0, 2.0]),
    top_k=st.sampled_from([0, 1, 2, 33, 69, 70, 10**6]),
    top_p=st.sampled_from([1e-50, 1e-6, 0.123, 0.77, 0.999, 1.0]),
    min_p=st.sampled_from([0.0, 0.0123, 0.6, 1.0]),
)
def test_any_filters_keep_what_they_say(
    compiled: bool, seed: int, equal: bool, temperature: float, top_k: int, top_p: float, min_p: float
):
    rng = np.random.default_rng(seed)
    logits = (rng.integers(-3, 3, SIZE) if equal else rng.normal(0, 2, SIZE)).astype(np.float32)
    params = (temperature, top_k, top_p, min_p, 0)
    row = SamplingRows(*(tf.constant([v], dtype) for v, dtype in zip(params, SAMPLING_DTYPES, strict=True)))
    found = _FOUND[compiled](tf.constant(logits[None]), row)[0].numpy()
    np.testing.assert_allclose(found, _defined(logits, temperature, top_k, top_p, min_p), atol=1e-5)


@pytest.mark.parametrize("compiled", [False, True])
def test_of_equal_logits_the_first_ids_are_kept(compiled: bool):
    row = SamplingRows(*map(tf.constant, ([1.0], [3], [1.0], [0.0], tf.constant([0], tf.int64))))
    found = _FOUND[compiled](tf.zeros([1, SIZE]), row)[0].numpy()
    np.testing.assert_allclose(found[:3], 1 / 3, atol=1e-6)
    assert not found[3:].any()


@pytest.mark.parametrize("compiled", [False, True])
def test_ids_that_are_barred_have_no_share(compiled: bool):
    logits = np.full([1, SIZE], -np.inf, np.float32)
    logits[0, [4, 9]] = [-0.0, 0.0]
    row = SamplingRows(*map(tf.constant, ([1.0], [40], [0.9], [0.0], tf.constant([0], tf.int64))))
    found = _FOUND[compiled](tf.constant(logits), row)[0].numpy()
    np.testing.assert_allclose(found[[4, 9]], 0.5, atol=1e-6)
    assert found.sum() == pytest.approx(1)
