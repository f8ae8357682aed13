"""TrainingMonitor: records, reports, checks and saves after each step."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import keras

from components.progress import report
from components.trainer.step_hook import StepHook
from components.trainer.training_config import TrainingConfig
from components.trainer.training_history import StepRecord, TrainingHistory
from components.trainer.training_state import TrainingState
from models.contract.errors import NotBlessedError

_RECENT = 5
"""Steps whose speed the estimate of the time left is taken from."""


class TrainingMonitor(keras.callbacks.Callback):
    """Keeps the history of a run, tells its progress, calls the hooks, saves states.

    Args:
        config: of the training.
        history: of the steps done before; this run's are added.
        state: where to save every `save_every_steps`, or None not to.
        hooks: called in their order after each step; their work is part of the state saved then.

    Raises:
        NotBlessedError: from `fit`, when a step's loss is not a finite number.
    """

    def __init__(
        self,
        config: TrainingConfig,
        history: TrainingHistory,
        state: TrainingState | None,
        hooks: Sequence[StepHook] = (),
    ) -> None:
        super().__init__()
        self._config = config
        self._history = history
        self._state = state
        self._hooks = hooks
        self._started = 0.0
        self._rate = 0.0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Let the hooks begin."""
        for hook in self._hooks:
            hook.begin(self.model)

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """At the first pass of a step: metrics and clock start anew."""
        if batch % self._config.gradient_accumulation_steps == 0:
            self.model.reset_metrics()
            self._started = time.monotonic()
            self._rate = float(self.model.optimizer.learning_rate)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """At the last pass of a step: record, check, report, save."""
        if (batch + 1) % self._config.gradient_accumulation_steps:
            return
        loss = self._loss(logs)
        step = len(self._history.steps) + 1
        if loss is not None and not math.isfinite(loss):
            raise _not_finite(loss, step, self._config)
        seconds = time.monotonic() - self._started
        norm = self.model.optimizer.gradient_norm
        self._history.steps.append(StepRecord(step, loss, self._rate, seconds, norm))
        self._tell()
        for hook in self._hooks:
            hook.step_done(self.model)
        if self._state and step % self._config.save_every_steps == 0 and step < self._config.steps:
            self._state.save(self.model, self._history)
            for hook in self._hooks:
                hook.state_saved()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Let the hooks end."""
        for hook in self._hooks:
            hook.end()

    def _loss(self, logs: dict[str, Any] | None) -> float | None:
        """The step's mean loss, None if it had no label: the mean of nothing is 0 to Keras."""
        return float((logs or {})["token_loss"]) if float(self.model.token_loss.count) > 0 else None

    def _tell(self) -> None:
        record, speed = self._history.steps[-1], self._history.tokens_per_second(_RECENT)
        per_step = self._config.tokens_per_step
        left = (self._config.steps - record.step) * per_step / speed if speed else 0
        loss = "no label in this step" if record.loss is None else f"loss {record.loss:.3f}"
        note = f"{loss}, {speed:.0f} tokens/s"
        if record.step > 1 and left:
            note += f", {_duration(left)} left"
        report("training", record.step * per_step, self._config.steps * per_step, "tokens", note)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _not_finite(loss: float, step: int, config: TrainingConfig) -> NotBlessedError:
    return NotBlessedError(
        f"training loss became {loss} at step {step} of {config.steps}; the run was stopped and nothing was "
        f"written. Learning rate {config.learning_rate}, clip norm {config.clip_norm}.",
        field="training.learning_rate",
        remedy="Lower `training.learning_rate`, or check that the checkpoint's weights are finite.",
    )
