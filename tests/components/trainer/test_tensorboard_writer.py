"""What TensorBoard gets, read back from the event file."""

from __future__ import annotations

import io
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from components.trainer.attention_maps import attention_maps
from components.trainer.run_fn import train
from components.trainer.training_config import TrainingConfig
from components.trainer.training_data import TrainingData
from components.trainer.training_state import TrainingState
from models.checkpoint import load_checkpoint
from models.contract.errors import ConfigError
from preprocessing.tokenizers import load_tokenizer
from tests.components.trainer.transformed import END, some_documents
from tests.tiny import write_tiny_checkpoint

DATA, HELD_OUT = TrainingData(some_documents(), END), TrainingData(some_documents(6, seed=1), END)
TEXT = "def the_thing"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("board"))


def config(**tensorboard: Any) -> TrainingConfig:
    return TrainingConfig(
        tokens=4 * 64,
        sequence_length=32,
        batch_size=2,
        learning_rate=1e-2,
        save_every_steps=2,
        validation={"every_steps": 2, "tokens": 64},
        tensorboard={"every_steps": 3, **tensorboard},
    )


def _events(folder: Path) -> dict[str, dict[int, Any]]:
    """Tensors by tag and step."""
    (file,) = folder.glob("events.out.tfevents*")
    found: dict[str, dict[int, Any]] = defaultdict(dict)
    for event in tf.compat.v1.train.summary_iterator(str(file)):
        for value in event.summary.value:
            found[value.tag][event.step] = tf.make_ndarray(value.tensor)
    return found


def test_curves_norms_maps_and_samples_are_written(checkpoint, tmp_path):
    decoder, tokenizer = load_checkpoint(checkpoint), load_tokenizer(checkpoint)
    ids = np.array(tokenizer.encode_batch([TEXT])[0], np.int32)
    before = attention_maps(decoder, ids, [(1, 2)])[1, 2]
    settings = config(
        attention=[[0, 1], [1, 2]], attention_text=TEXT, samples=["def", "a\nb"], sample_tokens=4
    )
    history = train(decoder, DATA, settings, tmp_path, held_out=HELD_OUT, tokenizer=tokenizer)
    events = _events(tmp_path)
    for name in ("loss", "learning_rate", "gradient_norm"):
        written = [float(value) for _, value in sorted(events[name].items())]
        assert written == pytest.approx([getattr(step, name) for step in history.steps], rel=1e-5)
        assert min(written) > 0
    assert sorted(events["tokens_per_second"]) == [1, 2, 3, 4]
    assert {step: float(loss) for step, loss in events["validation_loss"].items()} == pytest.approx(
        {record.step: record.loss for record in history.validations}
    )
    norm = np.sqrt(sum(np.square(weight.numpy()).sum() for weight in decoder.weights))
    assert float(events["weight_norm"][4]) == pytest.approx(norm, rel=1e-4)
    for tag in (
        "weight_norm",
        "attention/layer_0_head_1",
        "attention/layer_1_head_2",
        "sample/0",
        "sample/1",
    ):
        assert sorted(events[tag]) == [0, 3, 4], tag
    picture = np.asarray(Image.open(io.BytesIO(events["attention/layer_1_head_2"][0][2])))
    scale = picture.shape[0] // len(ids)
    np.testing.assert_allclose(picture[::scale, ::scale] / 255, np.sqrt(before), atol=0.01)
    assert events["sample/1"][4][()].decode().startswith("    a\n    b▸")


def test_a_resumed_run_has_the_whole_curves(checkpoint, tmp_path):
    settings = config()
    state = TrainingState(tmp_path / "state", settings, "c", "d")
    first = train(load_checkpoint(checkpoint), DATA, settings, tmp_path / "a", state, held_out=HELD_OUT)
    train(load_checkpoint(checkpoint), DATA, settings, tmp_path / "b", state, held_out=HELD_OUT)
    events = _events(tmp_path / "b")
    assert sorted(events["loss"]) == [1, 2, 3, 4]
    assert sorted(events["validation_loss"]) == [0, 2, 4]
    assert float(events["loss"][1]) == pytest.approx(first.steps[0].loss)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"attention": [[2, 0]]}, "layer 2, head 0; the model has layers 0 to 1"),
        ({"samples": ["a" * 250]}, r"'aaaa.*more than the model's context 256"),
    ],
)
def test_what_the_model_cannot_show_is_refused_before_training(checkpoint, tmp_path, content, message):
    with pytest.raises(ConfigError, match=message):
        train(
            load_checkpoint(checkpoint),
            DATA,
            config(**content),
            tmp_path,
            tokenizer=load_tokenizer(checkpoint),
        )
