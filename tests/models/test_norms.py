from __future__ import annotations

import keras
import numpy as np

from models.norms import layer_norm, rms_norm

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(2.0, 3.0, (2, 5, 12)).astype(np.float32)
SCALE, BIAS = RANDOM.normal(size=(2, 12)).astype(np.float32)


def test_rms_norm_divides_by_the_root_mean_square():
    wanted = X / np.sqrt((X**2).mean(-1, keepdims=True) + 0.1) * SCALE
    np.testing.assert_allclose(rms_norm(X, keras.Variable(SCALE), 0.1), wanted, atol=1e-5)


def test_layer_norm_centres_and_divides_by_the_deviation():
    deviation = np.sqrt(X.var(-1, keepdims=True) + 0.1)
    wanted = (X - X.mean(-1, keepdims=True)) / deviation * SCALE + BIAS
    found = layer_norm(X, keras.Variable(SCALE), keras.Variable(BIAS), 0.1)
    np.testing.assert_allclose(found, wanted, atol=1e-5)
