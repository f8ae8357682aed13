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
        """The last validation that was an improvement, None if there was no trained one yet."""
        best: ValidationRecord | None = None
        for record in _trained(validations):
            if best is None or record.loss < best.loss - self._config.min_delta:
                best = record
        return best

    def should_stop(self, validations: Sequence[ValidationRecord]) -> bool:
        """Whether `patience` validations in a row brought no improvement."""
        best = self.best(validations)
        since = [record for record in _trained(validations) if best and record.step > best.step]
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
    reason = "early_stopping" if done < planned else "completed"
    text = f"Training made all {planned} steps."
    if done < planned and config and best:
        text = (
            f"Training ended early after step {done} of {planned}: the validation loss did not fall below "
            f"{best.loss:.4f} in {config.patience} validations."
        )
    if best and best.step != done:
        text += f" The weights are those after step {best.step}, whose validation loss is the lowest."
    return {
        "reason": reason,
        "step": done,
        "planned_steps": planned,
        "best_step": best.step if best else done,
        "text": text,
    }
