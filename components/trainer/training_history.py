"""TrainingHistory: what training reported of each step, and its summary."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from components.trainer.validation_record import ValidationRecord
from models.contract.errors import DataError

SUMMARY = "training_summary.json"
"""In the ModelRun artifact's folder."""

_CURVE_POINTS = 200
_FINAL_SHARE = 0.1
"""The final loss is the mean over this share of the steps: one step's loss says little."""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step of the optimiser.

    Args:
        step: from 1.
        loss: mean negative log-likelihood per label, in nats; None if the step saw no label to learn, e.g.
            only the prompts of conversations.
        learning_rate: that the step was taken with.
        seconds: it took.
        gradient_norm: global norm of its gradient before clipping.
    """

    step: int
    loss: float | None
    learning_rate: float
    seconds: float
    gradient_norm: float = 0.0


@dataclass(slots=True)
class TrainingHistory:
    """Steps in order; survives an interruption beside the saved state.

    Args:
        tokens_per_step: tokens that one step sees.
        steps: the records.
        resumed_at: steps after which an interrupted run was taken up again.
        validations: losses on held-out text, by step.
    """

    tokens_per_step: int
    steps: list[StepRecord] = field(default_factory=list)
    resumed_at: list[int] = field(default_factory=list)
    validations: list[ValidationRecord] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path, done: int) -> Self:
        """The history of the first `done` steps, as `write` left it.

        Raises:
            DataError: the file is not such a history.
        """
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            steps = [StepRecord(**record) for record in raw["steps"]]
            resumed = [step for step in raw["resumed_at"] if step < done]
            validations = [ValidationRecord(**record) for record in raw["validations"]]
            return cls(
                raw["tokens_per_step"],
                [step for step in steps if step.step <= done],
                [*resumed, done],
                [record for record in validations if record.step <= done],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"saved training state {path} cannot be read: {error}.",
                field=str(path),
                remedy=f"Delete {path.parent} to train from the start.",
            ) from error

    def write(self, path: Path) -> None:
        """Write it as a whole."""
        partial = path.with_suffix(".part")
        partial.write_text(json.dumps(asdict(self)), encoding="utf-8")
        partial.replace(path)

    @property
    def final_loss(self) -> float | None:
        """Mean loss of the last tenth of the steps; steps without one do not count, None if all are."""
        losses = [record.loss for record in self.steps if record.loss is not None]
        last = losses[-max(1, int(len(losses) * _FINAL_SHARE)) :]
        return sum(last) / len(last) if last else None

    def tokens_per_second(self, last: int | None = None) -> float:
        """Speed over all steps or the last few; the first of several, which traces, is left out."""
        records = self.steps[1:] if len(self.steps) > 1 else self.steps
        records = records[-last:] if last else records
        seconds = sum(record.seconds for record in records)
        return self.tokens_per_step * len(records) / seconds if seconds else 0.0

    def summary(self) -> dict[str, Any]:
        """Figures for the run's report; times in seconds, losses in nats per token."""
        measured = [record for record in self.steps if record.loss is not None]
        stride = max(1, -(-len(measured) // _CURVE_POINTS))
        points = [*measured[::stride], *([] if (len(measured) - 1) % stride == 0 else measured[-1:])]
        return {
            "steps": len(self.steps),
            "tokens": len(self.steps) * self.tokens_per_step,
            "seconds": round(sum(record.seconds for record in self.steps), 3),
            "tokens_per_second": round(self.tokens_per_second(), 1),
            "steps_without_labels": len(self.steps) - len(measured),
            "first_loss": measured[0].loss if measured else None,
            "final_loss": self.final_loss,
            "resumed_at": self.resumed_at,
            "loss_curve": [self._point(record) for record in points],
            "validation_curve": [
                {"step": v.step, "tokens": v.step * self.tokens_per_step, "loss": v.loss}
                for v in self.validations
            ],
        }

    def _point(self, record: StepRecord) -> dict[str, Any]:
        return {
            "step": record.step,
            "tokens": record.step * self.tokens_per_step,
            "loss": record.loss,
            "learning_rate": record.learning_rate,
            "gradient_norm": record.gradient_norm,
        }
