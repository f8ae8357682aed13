from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest

from components.trainer.best_weights import BestWeights
from models.contract.errors import ConfigError, DataError


def _weights(value: float) -> list[keras.Variable]:
    return [keras.Variable(np.full((2, 3), value, np.float32)), keras.Variable(np.full(2, value, np.float32))]


def test_weights_come_back_and_others_go(tmp_path: Path):
    best = BestWeights(tmp_path / "best")
    for step in (5, 10):
        best.save(step, _weights(step))
    for step in (10, 5):
        restored = _weights(0)
        best.restore(step, restored)
        assert all((weight.numpy() == step).all() for weight in restored)
    (tmp_path / "best" / "best-15.part").write_bytes(b"torn")
    best.keep_only({10})
    assert [path.name for path in (tmp_path / "best").iterdir()] == ["best-10.safetensors"]
    best.keep_only(())
    assert not list((tmp_path / "best").iterdir())


@pytest.mark.parametrize("damage", ["missing", "torn"])
def test_weights_that_cannot_be_read_are_named(tmp_path: Path, damage: str):
    best = BestWeights(tmp_path)
    best.save(5, _weights(5))
    path = tmp_path / "best-5.safetensors"
    path.unlink() if damage == "missing" else path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(DataError, match=r"best-5\.safetensors, of step 5, cannot be read.*Delete"):
        best.restore(5, _weights(0))


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "best-5.part").mkdir()
    with pytest.raises(ConfigError, match=r"best weights cannot be written.*`workdir`"):
        BestWeights(tmp_path).save(5, _weights(5))
