"""Validation while training, early stopping and what comes of it, on a tiny decoder."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest
from pydantic import ValidationError

from components.trainer.early_stopping import EarlyStopping
from components.trainer.run_fn import attach_adapters, documents_fingerprint, held_out_data, train
from components.trainer.training_config import TrainingConfig
from components.trainer.training_data import TrainingData
from components.trainer.training_history import TrainingHistory
from components.trainer.training_state import TrainingState
from models.checkpoint import load_checkpoint
from models.contract.errors import DataError, NotBlessedError
from models.decoder import Decoder
from tests.components.trainer.transformed import END, some_documents, write_examples
from tests.tiny import write_tiny_checkpoint


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("validator"), num_layers=1)


DATA, HELD_OUT = TrainingData(some_documents(), END), TrainingData(some_documents(6, seed=1), END)


class _KilledError(Exception):
    pass


class _DeathAfter(keras.callbacks.Callback):
    """Ends the training as a kill would: after this many passes, with the states that are on disk."""

    def __init__(self, passes: int) -> None:
        super().__init__()
        self._passes = passes

    def on_train_batch_end(self, batch: int, logs: object = None) -> None:
        if batch + 1 == self._passes:
            raise _KilledError


def config(**changes: object) -> TrainingConfig:
    return TrainingConfig(
        **{
            "tokens": 12 * 64,
            "sequence_length": 32,
            "batch_size": 2,
            "learning_rate": 0.3,
            "save_every_steps": 2,
            "validation": {"every_steps": 2, "tokens": 64},
            **changes,
        }
    )


def _loss(decoder: Decoder, rows: int) -> float:
    """Reference: the first held-out rows scored one by one by the decoder itself."""
    nll, labels = 0.0, 0.0
    for _, row in zip(range(rows), HELD_OUT.rows(config(seed=0)), strict=False):
        logits = decoder(row.ids[None], row.positions[None], row.segment_ids[None]).numpy()[0]
        logits = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
        chosen = logits[np.arange(len(row.labels)), row.labels] - np.log(np.exp(logits).sum(axis=-1))
        nll -= (chosen * row.weights).sum()
        labels += row.weights.sum()
    return nll / labels


def test_the_validation_loss_is_that_of_the_same_rows_whatever_the_seed(checkpoint, tmp_path):
    start = _loss(load_checkpoint(checkpoint), rows=2)
    for seed in (0, 7):
        decoder = load_checkpoint(checkpoint)
        history = train(decoder, DATA, config(seed=seed, tokens=3 * 64), tmp_path, held_out=HELD_OUT)
        assert [record.step for record in history.validations] == [0, 2, 3]
        assert history.validations[0].loss == pytest.approx(start, rel=1e-5)
        assert history.validations[-1].loss == pytest.approx(_loss(decoder, rows=2), rel=1e-5)
        curve = history.summary()["validation_curve"]
        assert [point["tokens"] for point in curve] == [0, 128, 192]


def test_validation_changes_nothing_in_training(checkpoint, tmp_path):
    with_it, without = load_checkpoint(checkpoint), load_checkpoint(checkpoint)
    one = train(with_it, DATA, config(gradient_accumulation_steps=2), tmp_path / "a", held_out=HELD_OUT)
    other = train(without, DATA, config(gradient_accumulation_steps=2), tmp_path / "b")
    assert [step.loss for step in one.steps] == [step.loss for step in other.steps]
    for a, b in zip(with_it.weights, without.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_more_tokens_than_there_are_take_each_document_once(checkpoint, tmp_path):
    settings = config(tokens=64, validation={"every_steps": 9, "tokens": 10**6})
    decoder = load_checkpoint(checkpoint)
    history = train(decoder, DATA, settings, tmp_path, held_out=HELD_OUT)
    rows = -(-HELD_OUT.tokens // 32)
    assert history.validations[-1].loss == pytest.approx(_loss(decoder, rows), rel=1e-5)


_LORA = {"method": "lora", "learning_rate": 1.0, "lora": {"alpha": 64.0}}
"""Adapters of the tiny model do not overfit so soon: what ends their training is the least improvement."""


def _stopping(tmp_path: Path, method: str) -> tuple[TrainingConfig, TrainingState]:
    changes = _LORA if method == "lora" else {}
    min_delta = 0.5 if method == "lora" else 0.0
    settings = config(early_stopping={"patience": 2, "min_delta": min_delta}, **changes)
    return settings, TrainingState(tmp_path / "state", settings, "checkpoint", DATA.fingerprint())


def _best(history: TrainingHistory) -> tuple[int, float]:
    loss, step = min((record.loss, record.step) for record in history.validations[1:])
    return step, loss


@pytest.mark.parametrize("method", ["full", "lora"])
def test_early_stopping_ends_with_the_best_weights(checkpoint, tmp_path, method):
    settings, state = _stopping(tmp_path, method)

    def run() -> tuple[Decoder, TrainingHistory]:
        decoder = load_checkpoint(checkpoint)
        adapters = attach_adapters(decoder, settings)
        log = tmp_path / "log"
        return decoder, train(decoder, DATA, settings, log, state, adapters=adapters, held_out=HELD_OUT)

    decoder, history = run()
    last = EarlyStopping(settings.early_stopping).last_improvement(history.validations)
    _, least = _best(history)
    assert len(history.steps) < settings.steps
    assert len([record for record in history.validations if record.step > last.step]) == 2
    assert _loss(decoder, rows=2) == pytest.approx(least, rel=1e-5)
    # The run is taken up after it had stopped: nothing is trained, the same weights come out.
    again, resumed = run()
    assert len(resumed.steps) == len(history.steps)
    assert _loss(again, rows=2) == pytest.approx(least, rel=1e-5)


def test_patience_that_ends_does_not_choose_worse_weights(checkpoint, tmp_path):
    settings = config(learning_rate=0.01, early_stopping={"patience": 3, "min_delta": 10})
    decoder = load_checkpoint(checkpoint)
    history = train(decoder, DATA, settings, tmp_path / "log", held_out=HELD_OUT)
    step, least = _best(history)
    assert len(history.steps) == 8
    assert step > 2
    assert _loss(decoder, rows=2) == pytest.approx(least, rel=1e-5)


@pytest.mark.parametrize("damaged", [["ckpt-4.data*"], ["ckpt-4.data*", "ckpt-2.index"], ["best/*"]])
def test_damaged_states_and_best_weights_are_passed_over(checkpoint, tmp_path, damaged, caplog):
    """The run before made four of twelve steps; each is validated, so every state needs its best weights."""
    validation = {"every_steps": 1, "tokens": 64}
    settings = config(learning_rate=0.01, early_stopping={"patience": 99}, validation=validation)
    straight = load_checkpoint(checkpoint)
    expected = train(straight, DATA, settings, tmp_path / "log", held_out=HELD_OUT)
    state = TrainingState(tmp_path / "state", settings, "checkpoint", DATA.fingerprint())
    with pytest.raises(_KilledError):
        train(
            load_checkpoint(checkpoint),
            DATA,
            settings,
            tmp_path / "log",
            state,
            [_DeathAfter(5)],
            held_out=HELD_OUT,
        )
    for path in [path for pattern in damaged for path in state.directory.glob(pattern)]:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    decoder = load_checkpoint(checkpoint)
    with caplog.at_level("WARNING", "tokenmill"):
        history = train(decoder, DATA, settings, tmp_path / "log", state, held_out=HELD_OUT)
    assert history.resumed_at == ([2] if damaged == ["ckpt-4.data*"] else [])
    assert "ckpt-4 cannot be used and is passed over" in caplog.text
    assert ("training starts anew" in caplog.text) == (not history.resumed_at)
    assert history.validations == expected.validations
    for a, b in zip(straight.weights, decoder.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_rows_of_one_length_give_one_loss_whatever_length_is_trained_with(checkpoint, tmp_path):
    losses = []
    for length in (16, 32, 64):
        settings = config(
            sequence_length=length,
            tokens=length,
            validation={"every_steps": 9, "tokens": 64, "sequence_length": 32},
        )
        history = train(load_checkpoint(checkpoint), DATA, settings, tmp_path, held_out=HELD_OUT)
        losses.append(history.validations[0].loss)
    assert losses == pytest.approx([_loss(load_checkpoint(checkpoint), rows=2)] * 3, rel=1e-5)


def test_other_held_out_documents_have_another_state():
    other = TrainingData(some_documents(6, seed=2), END)
    prints = [documents_fingerprint(DATA, held_out) for held_out in (None, HELD_OUT, other)]
    assert len(set(prints)) == 3
    assert documents_fingerprint(DATA, HELD_OUT) == prints[1]


def test_best_weights_are_taken_when_all_steps_were_made_and_without_a_state(checkpoint, tmp_path):
    settings = config(early_stopping={"patience": 99})
    decoder = load_checkpoint(checkpoint)
    history = train(decoder, DATA, settings, tmp_path / "log", held_out=HELD_OUT)
    step, loss = _best(history)
    assert step < len(history.steps) == settings.steps
    assert _loss(decoder, rows=2) == pytest.approx(loss, rel=1e-5)


def test_a_validation_loss_that_is_no_number_stops_the_run(checkpoint, tmp_path):
    decoder = load_checkpoint(checkpoint)
    decoder.final_norm.assign(decoder.final_norm.numpy() * np.nan)
    with pytest.raises(NotBlessedError, match=r"validation loss became nan after step 0"):
        train(decoder, DATA, config(), tmp_path, held_out=HELD_OUT)


def test_stopping_without_validation_is_refused():
    with pytest.raises(ValidationError, match=r"`validation.every_steps` is 0"):
        config(validation={"every_steps": 0}, early_stopping={})


def test_an_eval_split_without_text_is_named(checkpoint, tmp_path):
    pattern = write_examples(tmp_path / "eval", [])
    with pytest.raises(DataError, match=r"no held-out text.*`corpus.eval_fraction`"):
        held_out_data([pattern], checkpoint, config())
    assert held_out_data([pattern], checkpoint, config(validation={"every_steps": 0})) is None
