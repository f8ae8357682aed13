"""Validator: the loss on the same held-out rows now and then, and the end of training it may bring."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

from components.progress import report
from components.trainer.best_weights import BestWeights
from components.trainer.early_stopping import EarlyStopping
from components.trainer.language_model import LanguageModel
from components.trainer.training_config import TrainingConfig
from components.trainer.training_data import TrainingData
from components.trainer.training_history import TrainingHistory
from components.trainer.validation_record import ValidationRecord
from models.contract.errors import NotBlessedError
from preprocessing.packing import PackedRow

_INPUTS = ("ids", "positions", "segment_ids")


class Validator:
    """A StepHook that measures the validation loss, keeps the best weights and stops training.

    The rows are the first of the held-out documents in an order of their own, the same for every
    seed, so that runs can be compared. A longer row lets a token see more before it, so only losses of
    rows of one length (`validation.sequence_length`) compare.

    Args:
        config: of the training.
        held_out: documents of the eval split.
        history: gets the validations.
        best: where the best weights are kept; used with `training.early_stopping` only.
    """

    def __init__(
        self, config: TrainingConfig, held_out: TrainingData, history: TrainingHistory, best: BestWeights
    ) -> None:
        self._config = config
        self._history = history
        self._best = best
        self._stopping = EarlyStopping(config.early_stopping) if config.early_stopping else None
        self._rows = _rows(held_out, config)
        self._of_last_state = self._best_step()

    def begin(self, model: LanguageModel) -> None:
        """Measure the model that training starts from, unless it was."""
        if not self._history.steps and not self._history.validations:
            self._validate(model, 0)

    def step_done(self, model: LanguageModel) -> None:
        """Measure if it is time; with early stopping keep the best weights and end `fit`.

        Raises:
            NotBlessedError: the validation loss is not a finite number.
            ConfigError: the best weights cannot be written.
        """
        step = len(self._history.steps)
        if step % self._config.validation.every_steps and step < self._config.steps:
            return
        self._validate(model, step)
        if self._stopping is None:
            return
        if self._best_step() == step:
            self._best.save(step, model.trainable_variables)
        model.stop_training = self.should_stop

    def state_saved(self) -> None:
        """Only the best weights of the state just saved and of the one before are needed from now on."""
        if self._stopping:
            now = self._best_step()
            self._best.keep_only({step for step in (self._of_last_state, now) if step is not None})
            self._of_last_state = now

    def end(self) -> None:
        """Nothing is left open."""

    @property
    def should_stop(self) -> bool:
        """Whether training has ended early, also if that was before an interruption."""
        return self._stopping is not None and self._stopping.should_stop(self._history.validations)

    def restore_best(self, model: LanguageModel) -> None:
        """Give the model the weights of the best validation; without early stopping it keeps its last.

        Raises:
            DataError: they were damaged since.
        """
        step = self._best_step()
        if step is not None and step != len(self._history.steps):
            self._best.restore(step, model.trainable_variables)

    def _best_step(self) -> int | None:
        best = self._stopping.best(self._history.validations) if self._stopping else None
        return best.step if best else None

    def _validate(self, model: LanguageModel, step: int) -> None:
        report("validating", 0, 0, "tokens", f"after step {step}")
        loss = float(model.evaluate(self._rows, verbose=0, return_dict=True)["token_loss"])
        if not math.isfinite(loss):
            raise _not_finite(loss, step)
        self._history.validations.append(ValidationRecord(step, loss))


def _rows(held_out: TrainingData, config: TrainingConfig) -> tf.data.Dataset:
    """Batches of the first held-out rows; not more than there are documents for."""
    wanted = min(config.validation.tokens, held_out.tokens)
    length = config.validation.sequence_length or config.sequence_length
    count = max(1, -(-wanted // length))
    rows: list[PackedRow] = []
    for row in held_out.rows(config.model_copy(update={"seed": 0, "sequence_length": length})):
        rows.append(row)
        # Rows of a long conversation may hold no answer: a loss needs one.
        if len(rows) >= count and any(row.weights.any() for row in rows):
            break
    inputs = {name: np.stack([getattr(row, name) for row in rows]) for name in _INPUTS}
    labels, weights = np.stack([row.labels for row in rows]), np.stack([row.weights for row in rows])
    return tf.data.Dataset.from_tensor_slices((inputs, labels, weights)).batch(config.batch_size)


def _not_finite(loss: float, step: int) -> NotBlessedError:
    return NotBlessedError(
        f"the validation loss became {loss} after step {step}; the run was stopped and nothing was written.",
        field="training.learning_rate",
        remedy="Lower `training.learning_rate`, or check that the checkpoint's weights are finite.",
    )
