from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from models.packed.weight_forms import PADDED, SCALES, WeightForms

PROFILES = ("off", "latency", "throughput")
PATHS = ("embedding", "head", "blocks/3/down")
RANDOM = np.random.default_rng(0)


def through(forms: WeightForms, path: str, weight: np.ndarray) -> np.ndarray:
    return forms.unpack(path, dict(forms.pack(path, weight)), weight.shape)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("path", PATHS)
def test_float32_comes_back_bit_for_bit(profile: str, path: str):
    weight = RANDOM.normal(size=(6, 10)).astype(np.float32)
    np.testing.assert_array_equal(through(WeightForms.of(profile, "float32"), path, weight), weight)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_vectors_and_positions_stay_as_they_are(dtype: str):
    for path, shape in (("final_norm", (7,)), ("blocks/0/down_bias", (7,)), ("position_embedding", (5, 7))):
        weight = RANDOM.normal(size=shape).astype(np.float32)
        stored = dict(WeightForms.of("latency", dtype).pack(path, weight))
        assert list(stored) == [path]
        np.testing.assert_array_equal(stored[path], weight)


@given(
    matrix=arrays(np.float32, (5, 4), elements=st.floats(-100, 100, width=32)),
    profile=st.sampled_from(PROFILES),
    path=st.sampled_from(PATHS),
)
@settings(deadline=None)
def test_int8_is_off_by_half_a_step_of_its_output_at_most(matrix: np.ndarray, profile: str, path: str):
    # An output is a column of a kernel and a row of an embedding.
    axis = 1 if path == "embedding" else 0
    step = np.abs(matrix).max(axis=axis, keepdims=True) / 127
    found = through(WeightForms.of(profile, "int8"), path, matrix)
    assert (np.abs(found - matrix) <= step * 0.5001 + 1e-30).all()


def test_int8_uses_the_whole_symmetric_range():
    stored = dict(WeightForms.of("off", "int8").pack("head", np.float32([[-2.0, 0], [1.0, 0]])))
    assert stored["head"][:2].tolist() == [[-127, 64], [0, 0]]
    assert stored["head" + SCALES][:2].tolist() == [np.float32(2 / 127), 1]


def test_outputs_are_filled_up_to_equal_slices():
    stored = dict(WeightForms.of("off", "float32").pack("embedding", np.ones([257, 4], np.float32)))
    assert stored["embedding"].shape == (5 * PADDED, 4)
    assert stored["embedding"].sum() == 257 * 4


def test_bfloat16_rounds_to_eight_bits_of_mantissa():
    weight = RANDOM.normal(size=(6, 10)).astype(np.float32)
    found = through(WeightForms.of("latency", "bfloat16"), "head", weight)
    np.testing.assert_allclose(found, weight, rtol=2**-8)


def test_only_int8_for_many_rows_rounds_activations():
    rounded = [
        (profile, dtype)
        for profile in PROFILES
        for dtype in ("float32", "bfloat16", "int8")
        if WeightForms.of(profile, dtype).kernel.rounded
    ]
    assert rounded == [("throughput", "int8")]
