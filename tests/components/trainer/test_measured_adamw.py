from __future__ import annotations

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.trainer.measured_adamw import MeasuredAdamW

OPTIONS = {"learning_rate": 0.1, "weight_decay": 0.01}


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), clip=st.sampled_from([None, 0.5, 1e3]), passes=st.sampled_from([None, 2]))
def test_it_steps_as_adamw_and_tells_the_norm(seed, clip, passes):
    random = np.random.default_rng(seed)
    start = [random.normal(size=shape).astype(np.float32) for shape in ((3, 4), (5,))]
    settings_ = {**OPTIONS, "global_clipnorm": clip, "gradient_accumulation_steps": passes}
    ours, theirs = MeasuredAdamW(**settings_), keras.optimizers.AdamW(**settings_)
    weights, reference = ([keras.Variable(array) for array in start] for _ in range(2))
    ours.build(weights)
    theirs.build(reference)
    assert ours.gradient_norm == 0
    gradients = [
        [random.normal(size=weight.shape).astype(np.float32) for weight in weights]
        for _ in range(passes or 1)
    ]
    for gradient in gradients:
        ours.apply_gradients(zip(gradient, weights, strict=True))
        theirs.apply_gradients(zip(gradient, reference, strict=True))
    for weight, other in zip(weights, reference, strict=True):
        np.testing.assert_allclose(weight.numpy(), other.numpy(), atol=1e-6)
    mean = [np.mean(parts, axis=0).ravel() for parts in zip(*gradients, strict=True)]
    assert ours.gradient_norm == pytest.approx(np.linalg.norm(np.concatenate(mean)), rel=1e-5)


def test_a_gradient_of_zero_leaves_everything_finite():
    weights = [keras.Variable(np.ones((2, 2), np.float32))]
    optimizer = MeasuredAdamW(**OPTIONS, global_clipnorm=1.0)
    optimizer.build(weights)
    optimizer.apply_gradients([(np.zeros((2, 2), np.float32), weights[0])])
    assert optimizer.gradient_norm == 0
    assert np.isfinite(weights[0].numpy()).all()
