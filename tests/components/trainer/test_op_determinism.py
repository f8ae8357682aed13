"""Deterministic ops: for a while only, and a training that repeats bit for bit."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest
from tensorflow.python.framework.config import is_op_determinism_enabled

from components.trainer.op_determinism import op_determinism
from components.trainer.run_fn import train
from components.trainer.training_config import TrainingConfig
from components.trainer.training_data import TrainingData
from models.checkpoint import load_checkpoint
from tests.tiny import TINY, write_tiny_checkpoint


def test_determinism_ends_with_the_block_also_by_an_error():
    def fail() -> None:
        with op_determinism(True):
            raise KeyError(is_op_determinism_enabled())

    with pytest.raises(KeyError, match="True"):
        fail()
    assert not is_op_determinism_enabled()
    with op_determinism(False):
        assert not is_op_determinism_enabled()


def test_a_caller_s_determinism_is_left_on():
    with op_determinism(True):
        with op_determinism(True):
            pass
        assert is_op_determinism_enabled()
    assert not is_op_determinism_enabled()


class _Watch(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[bool] = set()

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        self.seen.add(is_op_determinism_enabled())


@pytest.mark.parametrize("deterministic", [True, False])
def test_the_setting_decides_and_the_same_run_gives_the_same_bits(deterministic, tmp_path):
    checkpoint = write_tiny_checkpoint(tmp_path / "checkpoint", num_layers=1)
    random = np.random.default_rng(0)
    data = TrainingData([random.integers(3, TINY.vocab_size, 90).astype(np.int32) for _ in range(6)], 0)
    config = TrainingConfig(tokens=4 * 128, sequence_length=64, batch_size=2, deterministic=deterministic)

    def weights(folder: Path) -> tuple[list[bytes], set[bool]]:
        decoder, watch = load_checkpoint(checkpoint), _Watch()
        train(decoder, data, config, folder, callbacks=[watch])
        return [weight.numpy().tobytes() for weight in decoder.weights], watch.seen

    once, seen = weights(tmp_path / "a")
    assert seen == {deterministic}
    assert not is_op_determinism_enabled()
    if deterministic:
        assert weights(tmp_path / "b")[0] == once
