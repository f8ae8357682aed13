from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from models.packed.kernel import Kernel
from models.packed.kernel_form import KernelForm
from models.packed.weight_forms import SCALES, WeightForms

RANDOM = np.random.default_rng(0)
MATRIX = RANDOM.normal(size=(24, 16)).astype(np.float32)
FORMS = [
    KernelForm(dtype, rounded)
    for dtype in ("float32", "bfloat16", "int8")
    for rounded in ((False, True) if dtype == "int8" else (False,))
]
TOLERANCE = {"float32": 1e-5, "bfloat16": 0.06, "int8": 0.2}


def stored(form: KernelForm) -> tuple[tf.Tensor, tf.Tensor | None]:
    arrays = dict(WeightForms(form).pack("head", MATRIX))
    scales = arrays.get("head" + SCALES)
    return tf.constant(arrays["head"]), None if scales is None else tf.constant(scales)


def product(form: KernelForm, x: np.ndarray, *, compiled: bool, few_rows: bool = True) -> np.ndarray:
    values, scales = stored(form)
    function = tf.function(
        lambda rows: Kernel(form, values, scales, num_outputs=16, compiled=compiled, cores=4).product(
            rows, few_rows=few_rows
        ),
        jit_compile=compiled,
    )
    return function(tf.constant(x)).numpy()


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("rows", [1, 3])
def test_a_product_is_that_of_the_matrix(form: KernelForm, rows: int):
    x = RANDOM.normal(size=(rows, 24)).astype(np.float32)
    plain, compiled = (product(form, x, compiled=compiled) for compiled in (False, True))
    many = product(form, x, compiled=False, few_rows=False)
    np.testing.assert_allclose(plain, x @ MATRIX, atol=TOLERANCE[form.dtype])
    # Compiled or not, a form means the same numbers.
    np.testing.assert_allclose(compiled, plain, atol=2e-5)
    np.testing.assert_allclose(many, plain, atol=2e-5)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_rows_are_an_embeddings(form: KernelForm):
    values, scales = stored(form)
    ids = tf.constant([[3, 0], [15, 3]])
    found = Kernel(form, values, scales, num_outputs=16).rows(ids).numpy()
    assert found.shape == (2, 2, 24)
    np.testing.assert_allclose(found, MATRIX.T[ids.numpy()], atol=TOLERANCE[form.dtype] / 5)


def test_a_row_of_zeros_has_a_product_of_zeros_with_rounded_activations():
    form = KernelForm("int8", rounded=True)
    np.testing.assert_array_equal(product(form, np.zeros((2, 24), np.float32), compiled=True), 0)
