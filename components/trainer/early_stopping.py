"""EarlyStopping: the best validation so far, and whether training should end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from components.trainer.early_stopping_config import EarlyStoppingConfig
from components.trainer.validation_record import ValidationRecord


class EarlyStopping:
    """Decides from the validations alone, so that a resumed run decides as an uninterrupted one.

    The validation before the first step is not counted: a result is always a trained model, and the
    gate says whether it is better than the start. Source: Prechelt (1998), "Early stopping - but when?".

    Args:
        config: patience and least improvement.
    """

    def __init__(self, config: EarlyStoppingConfig) -> None:
        self._config = config

    def best(self, validations: Sequence[ValidationRecord]) -> ValidationRecord | None:
        """The first validation with the least loss, None if there was no trained one yet."""
        return min(_trained(validations), key=lambda record: record.loss, default=None)

    def last_improvement(self, validations: Sequence[ValidationRecord]) -> ValidationRecord | None:
        """The last validation lower by more than `min_delta` than the improvement before it.

        Only patience counts from here: a loss that falls by less is still the better one.
        """
        last: ValidationRecord | None = None
        for record in _trained(validations):
            if last is None or record.loss < last.loss - self._config.min_delta:
                last = record
        return last

    def should_stop(self, validations: Sequence[ValidationRecord]) -> bool:
        """Whether `patience` validations in a row brought no improvement."""
        last = self.last_improvement(validations)
        since = [record for record in _trained(validations) if last and record.step > last.step]
        return len(since) >= self._config.patience


def _trained(validations: Sequence[ValidationRecord]) -> list[ValidationRecord]:
    return [record for record in validations if record.step > 0]


def stop_summary(
    config: EarlyStoppingConfig | None, validations: Sequence[ValidationRecord], done: int, planned: int
) -> dict[str, Any]:
    """Why training ended where it did, for the run's report.

    Args:
        config: of early stopping, None if it is off.
        validations: of the whole training.
        done: steps made.
        planned: steps that the configuration asks for.

    Returns:
        `reason` ("completed" or "early_stopping"), `step` and `planned_steps`, `best_step` (whose weights
        were taken) and `text`, a sentence.
    """
    best = EarlyStopping(config).best(validations) if config else None
    stopped = done < planned
    text = f"Training made all {planned} steps."
    if stopped and config:
        text = _why_stopped(config, validations, done, planned)
    if best and best.step != done:
        text += f" The weights are those after step {best.step}, whose validation loss is the lowest."
    return {
        "reason": "early_stopping" if stopped else "completed",
        "step": done,
        "planned_steps": planned,
        "best_step": best.step if best else done,
        "text": text,
    }


def _why_stopped(
    config: EarlyStoppingConfig, validations: Sequence[ValidationRecord], done: int, planned: int
) -> str:
    last = EarlyStopping(config).last_improvement(validations)
    assert last is not None
    by = f" by more than {config.min_delta:g}" if config.min_delta else ""
    return (
        f"Training ended early after step {done} of {planned}: the validation loss did not fall{by} below "
        f"{last.loss:.4f} in {config.patience} validations."
    )
