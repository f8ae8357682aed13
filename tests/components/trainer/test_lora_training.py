"""Training by adapters: what is learned, saved, resumed, merged and written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from pydantic import ValidationError

from components.trainer.run_fn import ADAPTER, attach_adapters, run_fn, train
from components.trainer.training_config import TrainingConfig
from components.trainer.training_data import TrainingData
from components.trainer.training_state import TrainingState
from models.checkpoint import load_checkpoint
from models.contract.errors import ConfigError
from models.decoder import Decoder
from models.peft_format import load_adapter
from tests.tiny import TINY, write_tiny_checkpoint

PARAMETERS = replace(TINY, num_layers=1).num_parameters
IDS = np.random.default_rng(1).integers(3, TINY.vocab_size, (2, 20)).astype(np.int32)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("lora") / "checkpoint", num_layers=1)


def config(**changes: object) -> TrainingConfig:
    settings = {
        "method": "lora",
        "lora": {"rank": 4, "alpha": 8},
        "tokens": 6 * 64,
        "sequence_length": 32,
        "batch_size": 2,
        "learning_rate": 1e-2,
        "save_every_steps": 2,
    }
    return TrainingConfig.model_validate({**settings, **changes})


def some_data() -> TrainingData:
    random = np.random.default_rng(0)
    return TrainingData([random.integers(3, TINY.vocab_size, 25).astype(np.int32) for _ in range(8)], 0)


def logits(decoder: Decoder) -> np.ndarray:
    return decoder(IDS).numpy()


def test_adapters_lower_the_loss_and_leave_the_decoder_s_weights_alone(checkpoint, tmp_path):
    decoder = load_checkpoint(checkpoint)
    before = [weight.numpy() for weight in decoder.weights]
    settings = config(tokens=40 * 64)
    data = TrainingData([np.arange(3, 40, dtype=np.int32)], 0)
    history = train(decoder, data, settings, tmp_path, adapters=attach_adapters(decoder, settings))
    assert history.final_loss < 0.6 * history.steps[0].loss
    for old, weight in zip(before, decoder.weights, strict=True):
        np.testing.assert_array_equal(old, weight.numpy())


@pytest.mark.parametrize(
    "changes",
    [
        {"gradient_accumulation_steps": 2, "tokens": 6 * 128},
        {"lora": {"rank": 4, "dropout": 0.3, "targets": ["q_proj"]}},
    ],
    ids=["accumulated", "dropout"],
)
def test_an_interrupted_run_ends_as_the_uninterrupted_one(checkpoint, tmp_path, monkeypatch, changes):
    settings, data = config(**changes), some_data()

    def adapted() -> tuple[Decoder, list[np.ndarray]]:
        decoder = load_checkpoint(checkpoint)
        adapters = attach_adapters(decoder, settings)
        train(decoder, data, settings, tmp_path / "log", state, adapters=adapters)
        return decoder, [variable.numpy() for variable in adapters.trainable_variables]

    state = None
    straight, expected = adapted()
    state = TrainingState(tmp_path / "state", settings, "checkpoint", data.fingerprint())
    save = TrainingState.save

    def save_then_die(self, model, history):
        save(self, model, history)
        if len(history.steps) == 4:
            raise InterruptedError

    monkeypatch.setattr(TrainingState, "save", save_then_die)
    with pytest.raises(InterruptedError):
        adapted()
    monkeypatch.setattr(TrainingState, "save", save)
    resumed, found = adapted()
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(logits(straight), logits(resumed))


def test_a_saved_state_holds_adapters_and_their_moments_only(checkpoint, tmp_path):
    settings, data = config(), some_data()
    state = TrainingState(tmp_path / "state", settings, "checkpoint", data.fingerprint())
    decoder = load_checkpoint(checkpoint)
    adapters = attach_adapters(decoder, settings)
    train(decoder, data, settings, tmp_path / "log", state, adapters=adapters)
    found = tf.train.list_variables(tf.train.latest_checkpoint(str(state.directory)))
    numbers = sum(int(np.prod(shape)) for name, shape in found if name.startswith("variables"))
    assert 3 * adapters.num_parameters <= numbers < 3 * adapters.num_parameters + 10


def write_examples(folder: Path) -> str:
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    with tf.io.TFRecordWriter(str(folder / "part.gz"), "GZIP") as writer:
        for index in range(6):
            features = {
                "source": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"tiny"])),
                "path": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"%d" % index])),
                "ids": tf.train.Feature(
                    int64_list=tf.train.Int64List(value=random.integers(3, TINY.vocab_size, 40))
                ),
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())
    return str(folder / "*.gz")


def run(checkpoint: Path, folder: Path, settings: TrainingConfig) -> Path:
    """The Trainer's part of a run; returns the model artifact's folder."""
    run_fn(
        SimpleNamespace(
            custom_config={
                "training": settings.model_dump(mode="json"),
                "checkpoint": str(checkpoint),
                "checkpoint_fingerprint": "fingerprint",
                "state_directory": str(folder / "state"),
            },
            train_files=[write_examples(folder / "train")],
            eval_files=[write_examples(folder / "eval")],
            model_run_dir=str(folder / "run"),
            serving_model_dir=str(folder / "model" / "Format-Serving"),
            base_model=None,
            hyperparameters=None,
        )
    )
    return folder / "model"


def test_a_run_writes_the_merged_checkpoint_and_the_adapter_that_made_it(checkpoint, tmp_path):
    model = run(checkpoint, tmp_path, config(tokens=20 * 64))
    merged = load_checkpoint(model / "Format-Serving")
    adapted = load_checkpoint(checkpoint)
    before = logits(adapted)
    load_adapter(adapted, model / ADAPTER)
    assert np.abs(logits(merged) - before).max() > 0.01
    np.testing.assert_allclose(logits(merged), logits(adapted), atol=1e-4)
    summary = json.loads((tmp_path / "run" / "training_summary.json").read_text())
    assert summary["method"] == "lora"
    assert summary["trainable_share"] == pytest.approx(
        summary["trained_parameters"] / (summary["trained_parameters"] + PARAMETERS)
    )
    assert not list((tmp_path / "state").iterdir())


def test_full_training_writes_no_adapter(checkpoint, tmp_path):
    model = run(checkpoint, tmp_path, config(method="full", lora={}, tokens=64))
    assert [path.name for path in model.iterdir()] == ["Format-Serving"]
    summary = json.loads((tmp_path / "run" / "training_summary.json").read_text())
    assert (summary["method"], summary["trainable_share"]) == ("full", 1.0)
    assert summary["trained_parameters"] == PARAMETERS


def test_an_unknown_target_is_named_with_those_there_are(checkpoint):
    with pytest.raises(ConfigError, match=r"'c_attn'.*q_proj, k_proj.*all-linear"):
        attach_adapters(load_checkpoint(checkpoint), config(lora={"targets": ["c_attn"]}))


def test_the_learning_rate_s_default_follows_the_method():
    assert TrainingConfig().learning_rate == 1e-4
    assert TrainingConfig(method="lora").learning_rate == 1e-3
    assert TrainingConfig(method="lora", learning_rate=3e-4).learning_rate == 3e-4


@pytest.mark.parametrize(
    "lora", [{"rank": 0}, {"alpha": 0}, {"dropout": 1}, {"targets": "q_proj"}, {"ranks": 4}]
)
def test_wrong_settings_are_refused(lora):
    with pytest.raises(ValidationError):
        TrainingConfig.model_validate({"method": "lora", "lora": lora})
