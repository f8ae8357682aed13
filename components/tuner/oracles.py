"""KerasTuner's oracles, with the configured values as the first trial."""

from __future__ import annotations

from typing import Any

import keras_tuner
from keras_tuner.engine import trial as trial_module

from components.trainer.training_config import TrainingConfig
from components.tuner.search_space import configured_values, search_space
from components.tuner.tuning_config import TuningConfig

OBJECTIVE = "validation_loss"


class _ConfiguredFirst:
    """So that a search never ends worse than without one, on the trials' own terms."""

    configured: dict[str, Any] | None = None

    def populate_space(self, trial_id: str) -> dict[str, Any]:
        if self.configured is not None and not self.trials:  # type: ignore[attr-defined]
            return {"status": trial_module.TrialStatus.RUNNING, "values": dict(self.configured)}
        return super().populate_space(trial_id)  # type: ignore[misc,no-any-return]


class _RandomOracle(_ConfiguredFirst, keras_tuner.oracles.RandomSearchOracle):
    pass


class _BayesianOracle(_ConfiguredFirst, keras_tuner.oracles.BayesianOptimizationOracle):
    pass


def make_oracle(config: TuningConfig, training: TrainingConfig) -> keras_tuner.Oracle:
    """The oracle that proposes values.

    Args:
        config: the search.
        training: the configured values.
    """
    oracle = {"random": _RandomOracle, "bayesian": _BayesianOracle}[config.algorithm](
        objective=keras_tuner.Objective(OBJECTIVE, "min"),
        max_trials=config.trials,
        hyperparameters=search_space(config),
        allow_new_entries=False,
        tune_new_entries=False,
        # 0 means a random one to KerasTuner.
        seed=config.seed + 1,
        # Trials may diverge; whether all did is judged at the end.
        max_consecutive_failed_trials=config.trials + 1,
    )
    oracle.configured = configured_values(config, training)
    return oracle
