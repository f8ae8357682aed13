from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from models.rotary import rotary_angles, rotate

D, THETA = 8, 100.0


def _rotated(x: np.ndarray, position: int) -> np.ndarray:
    positions = np.full((1, 1), position, np.int32)
    return rotate(x.reshape(1, 1, 1, D), rotary_angles(positions, D, THETA)).numpy().ravel()


def test_the_halves_of_a_head_are_rotated_as_complex_numbers():
    x = np.random.default_rng(0).normal(size=(2, 3, 5, D)).astype(np.float32)
    positions = np.array([[0, 1, 2, 3, 4], [7, 8, 0, 1, 2]], np.int32)
    frequencies = THETA ** (-np.arange(D // 2) * 2 / D)
    turned = (x[..., : D // 2] + 1j * x[..., D // 2 :]) * np.exp(
        1j * positions[:, None, :, None] * frequencies
    )
    result = rotate(x, rotary_angles(positions, D, THETA)).numpy()
    np.testing.assert_allclose(result, np.concatenate([turned.real, turned.imag], -1), atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 500))
def test_products_depend_on_the_distance_alone(a: int, b: int, shift: int):
    q, k = np.random.default_rng(1).normal(size=(2, D)).astype(np.float32)
    here = _rotated(q, a) @ _rotated(k, b)
    there = _rotated(q, a + shift) @ _rotated(k, b + shift)
    np.testing.assert_allclose(here, there, atol=2e-3)
