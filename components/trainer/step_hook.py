"""StepHook: what else happens after each step of a training."""

from __future__ import annotations

from typing import Any, Protocol


class StepHook(Protocol):
    """Called by the TrainingMonitor, whose history already holds the step; several in their order."""

    def begin(self, model: Any) -> None:
        """Before the first step of this process; the history holds the steps done before."""

    def step_done(self, model: Any) -> None:
        """After a step of the optimiser, before the state is saved."""

    def state_saved(self) -> None:
        """After the state of the history's last step is complete on disk."""

    def end(self) -> None:
        """After the last step of this process."""
