"""TrainingTuner: a KerasTuner tuner whose trials are short trainings."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras_tuner
from keras_tuner.errors import FailedTrialError, FatalRuntimeError

from components.progress import report
from components.trainer.hyperparameters import with_values
from components.trainer.training_config import TrainingConfig
from components.tuner.oracles import OBJECTIVE, make_oracle
from components.tuner.tuning_config import TuningConfig
from models.contract.errors import NotBlessedError

_COMPLETED = "COMPLETED"


class TrainingTuner(keras_tuner.engine.base_tuner.BaseTuner):
    """Searches; an interrupted search goes on with the trial it was interrupted in.

    Args:
        config: the search.
        training: the configuration that trials differ from.
        directory: where searches leave their state.
        project: name of this search, different for another configuration, checkpoint or corpus.
        loss_of: trains with a configuration and returns the validation loss; raises NotBlessedError for
            one that diverges.
    """

    def __init__(
        self,
        config: TuningConfig,
        training: TrainingConfig,
        directory: Path,
        project: str,
        loss_of: Callable[[TrainingConfig], float],
    ) -> None:
        self._trials = config.trials
        self._training = training
        self._loss_of = loss_of
        _remove_torn(directory / project)
        super().__init__(make_oracle(config, training), directory=str(directory), project_name=project)

    def run_trial(self, trial: Any, *fit_args: Any, **fit_kwargs: Any) -> dict[str, float]:
        """Train once; a training that diverges is a failed trial, any other fault ends the search."""
        values = trial.hyperparameters.values
        chosen = ", ".join(f"{name} {value:.4g}" for name, value in values.items())
        report("tuning", len(self.oracle.end_order), self._trials, "trials", chosen)
        try:
            return {OBJECTIVE: self._loss_of(with_values(self._training, values))}
        except NotBlessedError as error:
            raise FailedTrialError(str(error)) from error
        except Exception as error:
            raise FatalRuntimeError(f"trial {trial.trial_id} failed: {error}") from error

    def on_search_end(self) -> None:
        """Check that there is a result.

        Raises:
            NotBlessedError: every trial diverged.
        """
        done = [trial for trial in self.oracle.trials.values() if trial.status == _COMPLETED]
        if not done:
            raise NotBlessedError(
                f"none of the {len(self.oracle.trials)} trials had a finite loss.",
                field="tuning.parameters",
                remedy="Lower `learning_rate` in `tuning.parameters`.",
            )
        best = min(trial.score for trial in done)
        report("tuning", self._trials, self._trials, "trials", f"least validation loss {best:.4f}")


def _remove_torn(project: Path) -> None:
    """Delete a search whose files a kill left half-written: KerasTuner cannot read on."""
    for path in project.rglob("*.json"):
        try:
            json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            shutil.rmtree(project)
            return
