"""ModelRunner: what the engine needs from whatever executes the model."""

from __future__ import annotations

from typing import Protocol

from serving.engine.scheduler_output import SchedulerOutput
from serving.engine.step_result import StepResult


class ModelRunner(Protocol):
    """Executes steps on one replica, one at a time."""

    @property
    def nonce(self) -> int:
        """Boot nonce of the KV memory, as of the latest call."""

    def execute(self, output: SchedulerOutput) -> StepResult:
        """Run a step.

        Raises:
            Exception: the step failed; whether it was applied is unknown.
        """
