"""Training of a tiny decoder: loss, accumulation, schedule, resumption, faults."""

from __future__ import annotations

import itertools
import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from components.trainer.language_model import LanguageModel
from components.trainer.optimizer import learning_rate_schedule, make_optimizer
from components.trainer.run_fn import train
from components.trainer.training_config import TrainingConfig
from components.trainer.training_data import TrainingData
from components.trainer.training_history import TrainingHistory
from components.trainer.training_state import TrainingState
from models.checkpoint import load_checkpoint
from models.contract.errors import NotBlessedError
from models.decoder import Decoder
from preprocessing.packing import pack
from preprocessing.training_document import TrainingDocument
from tests.tiny import TINY, write_tiny_checkpoint

END = 0


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("checkpoint"), num_layers=1)


@pytest.fixture(scope="module")
def two_blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A second block sees what the first one moved between positions."""
    return write_tiny_checkpoint(tmp_path_factory.mktemp("two_blocks"))


@pytest.fixture
def decoder(checkpoint: Path) -> Decoder:
    return load_checkpoint(checkpoint)


def some_documents(count: int = 12, seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [
        random.integers(3, TINY.vocab_size, random.integers(1, 30)).astype(np.int32) for _ in range(count)
    ]


def weights_of(decoder: Decoder) -> list[np.ndarray]:
    return [weight.numpy() for weight in decoder.weights]


def assert_same_weights(one: Decoder, other: Decoder, tolerance: float = 1e-5) -> None:
    for a, b in zip(weights_of(one), weights_of(other), strict=True):
        np.testing.assert_allclose(a, b, atol=tolerance, rtol=0)


def config(**changes: object) -> TrainingConfig:
    return TrainingConfig(
        **{
            "tokens": 6 * 64,
            "sequence_length": 32,
            "batch_size": 2,
            "learning_rate": 1e-2,
            "save_every_steps": 2,
            **changes,
        }
    )


def nll_of(decoder: Decoder, document: np.ndarray) -> list[float]:
    """Reference: one document alone, its end included, no packing, no mask."""
    ids = np.append(document, END)[None].astype(np.int32)
    log_probabilities = tf.nn.log_softmax(decoder(ids)).numpy()[0]
    return [-log_probabilities[t, ids[0, t + 1]] for t in range(len(document))]


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000))
def test_the_loss_of_packed_rows_is_that_of_each_document_alone(two_blocks, seed):
    decoder = load_checkpoint(two_blocks)
    documents = some_documents(4, seed)
    longest = sum(len(document) + 1 for document in documents)
    (row,) = pack(documents, longest + 5, end_id=END)
    model = LanguageModel(decoder)
    inputs = {name: getattr(row, name)[None] for name in ("ids", "positions", "segment_ids")}
    loss = model.compute_loss(
        y=row.labels[None], y_pred=model(inputs), sample_weight=row.weights[None]
    ).numpy()
    expected = list(itertools.chain(*(nll_of(decoder, document) for document in documents)))
    assert loss == pytest.approx(sum(expected) / (longest + 5), rel=1e-4)
    assert model.token_loss.result().numpy() == pytest.approx(np.mean(expected), rel=1e-4)
    assert row.weights.sum() == len(expected)


def test_accumulated_passes_equal_one_big_batch(checkpoint, tmp_path):
    data = TrainingData(some_documents(), END)
    big, small = load_checkpoint(checkpoint), load_checkpoint(checkpoint)
    history = train(big, data, config(batch_size=4, tokens=3 * 128), tmp_path)
    other = train(small, data, config(batch_size=1, gradient_accumulation_steps=4, tokens=3 * 128), tmp_path)
    assert len(history.steps) == len(other.steps) == 3
    assert [s.learning_rate for s in history.steps] == [s.learning_rate for s in other.steps]
    np.testing.assert_allclose([s.loss for s in history.steps], [s.loss for s in other.steps], rtol=1e-5)
    assert_same_weights(big, small)


def test_training_lowers_the_loss(decoder, tmp_path):
    data = TrainingData([np.arange(3, 40, dtype=np.int32)], END)
    history = train(decoder, data, config(tokens=30 * 64), tmp_path)
    assert history.final_loss < 0.5 * history.steps[0].loss


class _Interrupted(Exception):  # noqa: N818
    pass


@pytest.mark.parametrize("passes", [1, 2])
def test_an_interrupted_run_ends_as_the_uninterrupted_one(checkpoint, tmp_path, monkeypatch, passes):
    settings_ = config(gradient_accumulation_steps=passes, tokens=6 * 64 * passes)
    data = TrainingData(some_documents(), END)
    straight = load_checkpoint(checkpoint)
    expected = train(straight, data, settings_, tmp_path / "a")

    def state() -> TrainingState:
        return TrainingState(tmp_path / "state", settings_, "checkpoint", data.fingerprint())

    save = TrainingState.save

    def save_then_die(self, model, history):
        save(self, model, history)
        if len(history.steps) == 4:
            raise _Interrupted

    monkeypatch.setattr(TrainingState, "save", save_then_die)
    with pytest.raises(_Interrupted):
        train(load_checkpoint(checkpoint), data, settings_, tmp_path / "b", state())
    monkeypatch.setattr(TrainingState, "save", save)
    resumed = load_checkpoint(checkpoint)
    history = train(resumed, data, settings_, tmp_path / "b", state())
    assert history.resumed_at == [4]
    assert [s.step for s in history.steps] == [1, 2, 3, 4, 5, 6]
    assert [s.learning_rate for s in history.steps] == [s.learning_rate for s in expected.steps]
    np.testing.assert_allclose([s.loss for s in history.steps], [s.loss for s in expected.steps], rtol=1e-6)
    assert_same_weights(straight, resumed, 1e-6)


def test_another_configuration_checkpoint_or_corpus_has_another_state(tmp_path):
    base = TrainingState(tmp_path, config(), "a", "b").directory
    assert TrainingState(tmp_path, config(learning_rate=1e-3), "a", "b").directory != base
    assert TrainingState(tmp_path, config(), "other", "b").directory != base
    assert TrainingState(tmp_path, config(), "a", "other").directory != base
    assert TrainingState(tmp_path, config(save_every_steps=9), "a", "b").directory == base


def test_two_states_are_kept_and_a_torn_one_is_ignored(checkpoint, tmp_path):
    data = TrainingData(some_documents(), END)
    state = TrainingState(tmp_path / "state", config(tokens=9 * 64), "c", "d")
    train(load_checkpoint(checkpoint), data, config(tokens=9 * 64), tmp_path / "log", state)
    assert {p.name for p in state.directory.glob("ckpt-*.index")} == {"ckpt-6.index", "ckpt-8.index"}
    (state.directory / "ckpt-10.data-00000-of-00001").write_bytes(b"torn")
    decoder = load_checkpoint(checkpoint)
    history = train(decoder, data, config(tokens=9 * 64), tmp_path / "log", state)
    assert history.resumed_at == [8]
    state.delete()
    assert not state.directory.exists()


def test_states_that_nobody_took_up_for_a_week_are_deleted(checkpoint, tmp_path):
    data = TrainingData(some_documents(), END)
    for name, age in (("old", 8), ("recent", 6)):
        (tmp_path / "state" / name).mkdir(parents=True)
        history = tmp_path / "state" / name / "history.json"
        history.write_text("{}")
        os.utime(history, (time.time() - age * 86400,) * 2)
    state = TrainingState(tmp_path / "state", config(), "c", "d")
    train(load_checkpoint(checkpoint), data, config(), tmp_path / "log", state)
    assert {path.name for path in (tmp_path / "state").iterdir()} == {"recent", state.directory.name}


def test_with_a_broken_history_training_starts_anew_and_says_so(checkpoint, tmp_path, caplog):
    data = TrainingData(some_documents(), END)
    state = TrainingState(tmp_path / "state", config(), "c", "d")
    train(load_checkpoint(checkpoint), data, config(), tmp_path / "log", state)
    (state.directory / "history.json").write_text("{")
    with caplog.at_level("WARNING", "tokenmill"):
        history = train(load_checkpoint(checkpoint), data, config(), tmp_path / "log", state)
    assert history.resumed_at == []
    assert "history.json cannot be read" in caplog.text
    assert "training starts anew" in caplog.text


def test_a_state_of_other_sizes_is_passed_over(checkpoint, tmp_path, caplog):
    data = TrainingData(some_documents(), END)
    state = TrainingState(tmp_path / "state", config(), "c", "d")
    other = write_tiny_checkpoint(tmp_path / "other", num_layers=1, intermediate_size=16)
    train(load_checkpoint(other), data, config(), tmp_path / "log", state)
    with caplog.at_level("WARNING", "tokenmill"):
        history = train(load_checkpoint(checkpoint), data, config(), tmp_path / "log", state)
    assert history.resumed_at == []
    assert "training starts anew" in caplog.text


def test_a_step_without_a_label_has_no_loss(checkpoint, tmp_path):
    learned = np.zeros(64, bool)
    learned[40:] = True
    data = TrainingData([TrainingDocument(np.arange(3, 67, dtype=np.int32), learned)], END)
    settings_ = config(sequence_length=16, batch_size=1, tokens=8 * 16)
    history = train(load_checkpoint(checkpoint), data, settings_, tmp_path)
    without = [step.step for step in history.steps if step.loss is None]
    assert without[:2] == [1, 2]
    assert len(without) < len(history.steps) == 8
    summary = history.summary()
    assert summary["steps_without_labels"] == len(without)
    assert summary["first_loss"] == history.steps[2].loss > 0
    assert summary["final_loss"] == next(s.loss for s in reversed(history.steps) if s.loss is not None)
    assert [point["step"] for point in summary["loss_curve"]] == [
        step.step for step in history.steps if step.step not in without
    ]
    history.write(tmp_path / "history.json")
    assert TrainingHistory.read(tmp_path / "history.json", 8).steps == history.steps
    nothing = TrainingHistory(16, history.steps[:2]).summary()
    assert (nothing["first_loss"], nothing["final_loss"], nothing["loss_curve"]) == (None, None, [])


def test_nan_stops_the_run_and_saves_nothing(decoder, tmp_path):
    poisoned = decoder.embedding.numpy()
    poisoned[5] = np.nan
    decoder.embedding.assign(poisoned)
    data = TrainingData(some_documents(), END)
    state = TrainingState(tmp_path / "state", config(save_every_steps=1), "c", "d")
    with pytest.raises(NotBlessedError, match=r"nan at step 1 of 6.*Lower `training.learning_rate`"):
        train(decoder, data, config(save_every_steps=1), tmp_path / "log", state)
    assert not state.directory.exists()


@pytest.mark.parametrize("passes", [1, 3])
def test_the_schedule_warms_up_and_ends_at_a_tenth(passes):
    settings_ = config(tokens=64 * passes * 20, gradient_accumulation_steps=passes, learning_rate=1e-3)
    assert settings_.steps == 20
    assert settings_.warmup_steps == 2
    schedule = learning_rate_schedule(settings_)
    rates = [float(schedule(step)) for step in range(20 * passes)]
    per_update = rates[::passes]
    assert rates == [rate for rate in per_update for _ in range(passes)]
    np.testing.assert_allclose(per_update[:3], [1e-3 / 3, 2e-3 / 3, 1e-3], rtol=1e-6)
    assert per_update[2:] == sorted(per_update[2:], reverse=True)
    assert per_update[-1] == pytest.approx(1e-4)


def test_without_warmup_the_first_step_has_the_peak_rate():
    schedule = learning_rate_schedule(config(warmup_fraction=0))
    assert float(schedule(0)) == pytest.approx(1e-2)
    assert float(schedule(5)) == pytest.approx(1e-3)


def test_norms_are_not_decayed(decoder):
    optimizer = make_optimizer(config(weight_decay=0.5), decoder.trainable_variables)
    before = weights_of(decoder)
    optimizer.apply_gradients([(tf.zeros(weight.shape), weight) for weight in decoder.trainable_variables])
    for old, weight in zip(before, decoder.weights, strict=True):
        changed = not np.array_equal(old, weight.numpy())
        assert changed == (old.ndim > 1), weight.path


def test_the_budget_is_rounded_up_to_whole_steps(decoder, tmp_path):
    data = TrainingData(some_documents(2), END)
    history = train(decoder, data, config(tokens=65), tmp_path)
    assert history.summary()["tokens"] == 128
    assert len(list(tmp_path.glob("events.out.tfevents*"))) == 1
    json.dumps(history.summary())
