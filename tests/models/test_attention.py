from __future__ import annotations

import numpy as np
import pytest

from models.attention import attend, causal_mask


def _reference(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    scores = np.einsum("bhtd,bhld->bhtl", q, k) / np.sqrt(q.shape[-1])
    scores = np.where(mask[:, None], scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhtl,bhld->bhtd", weights / weights.sum(-1, keepdims=True), v)


@pytest.mark.parametrize("kv_heads", [1, 2, 6])
def test_grouped_queries_equal_repeated_keys(kv_heads: int):
    random = np.random.default_rng(0)
    q = random.normal(size=(2, 6, 5, 4)).astype(np.float32)
    k, v = random.normal(size=(2, 2, kv_heads, 9, 4)).astype(np.float32)
    mask = random.random((2, 5, 9)) < 0.6
    mask[:, :, 0] = True
    np.testing.assert_allclose(attend(q, k, v, mask), _reference(q, k, v, mask), atol=1e-5)


def test_a_row_that_sees_nothing_stays_finite():
    x = np.ones((1, 2, 3, 4), np.float32)
    assert np.isfinite(attend(x, x, x, np.zeros((1, 3, 3), bool))).all()


def test_causal_mask_keeps_segments_apart():
    assert causal_mask(3).numpy().astype(int).tolist() == [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]
    mask = causal_mask(4, np.array([[1, 1, 2, 2]], np.int32)).numpy().astype(int)
    assert mask.tolist() == [[[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]]


def test_a_window_hides_what_lies_further_back():
    mask = causal_mask(5, window=2).numpy().astype(int)[0]
    assert mask.tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [0, 1, 1, 0, 0],
        [0, 0, 1, 1, 0],
        [0, 0, 0, 1, 1],
    ]
    segments = np.array([[1, 1, 2, 2, 2]], np.int32)
    assert causal_mask(5, segments, window=2).numpy().astype(int)[0, 2].tolist() == [0, 0, 1, 0, 0]
    np.testing.assert_array_equal(causal_mask(5, window=9), causal_mask(5))
