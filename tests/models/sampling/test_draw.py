"""draw: how many attempts a row may make, whatever its top_p keeps."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import models.sampling.draw as draw_module
from models.sampling import SamplingRows, sample

ROWS = 3


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of every attempt made outside a graph, in order."""
    made: list[int] = []
    with_noise = draw_module._with_noise

    def counted(known: Any, seed: tf.Tensor, position: tf.Tensor, attempt: tf.Tensor) -> Any:
        made.append(int(attempt))
        assert len(made) < 1000, "no end of attempts"
        return with_noise(known, seed, position, attempt)

    monkeypatch.setattr(draw_module, "_with_noise", counted)
    return made


def _rows(top_k: int, top_p: float) -> SamplingRows:
    ones = tf.ones([ROWS])
    seed = tf.range(ROWS, dtype=tf.int64)
    return SamplingRows(ones, tf.fill([ROWS], top_k), tf.fill([ROWS], tf.constant(top_p)), 0 * ones, seed)


@pytest.mark.parametrize("top_p", [1e-6, 2.0**-126, 1e-50], ids=["small", "smallest", "zero_to_float32"])
@pytest.mark.parametrize("top_k", [0, 40, 250])
def test_a_top_p_that_keeps_one_id_of_equals_ends_with_it(attempts: list[int], top_k: int, top_p: float):
    made = sample(tf.zeros([ROWS, 300]), _rows(top_k, top_p), tf.range(ROWS))
    assert made.id.numpy().tolist() == [0] * ROWS
    assert len(attempts) <= ROWS * (draw_module.ATTEMPTS + 1)
    if top_k == 250:
        assert max(attempts) == draw_module.ATTEMPTS, "the exact draw has noise that no attempt had"


def test_a_top_p_that_reaches_beyond_the_list_takes_few_attempts(attempts: list[int]):
    ids = sample(tf.zeros([ROWS, 2000]), _rows(0, 0.05), tf.range(ROWS)).id.numpy()
    assert (ids < 101).all()
    assert attempts
    assert len(attempts) <= ROWS * (draw_module.ATTEMPTS + 1)
