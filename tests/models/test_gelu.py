from __future__ import annotations

import numpy as np
import tensorflow as tf

from models.gelu import gelu

X = np.concatenate([np.linspace(-12, 12, 4001), [-1e30, -1e4, 0.0, 1e4, 1e30]]).astype(np.float32)


def test_it_is_the_tanh_approximation():
    y = X.astype(np.float64)
    with np.errstate(over="ignore"):
        wanted = y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3))) / 2
    np.testing.assert_allclose(gelu(tf.constant(X)), wanted, rtol=2e-6, atol=1e-6)


def test_its_gradient_is_tensorflows():
    x = tf.constant(X[::50])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        ours, theirs = gelu(x), tf.nn.gelu(x, approximate=True)
    np.testing.assert_allclose(tape.gradient(ours, x), tape.gradient(theirs, x), atol=1e-5)
