"""The search space of a TuningConfig, in KerasTuner's own form."""

from __future__ import annotations

from typing import Any

import keras_tuner

from components.trainer.training_config import TrainingConfig
from components.tuner.tuning_config import TuningConfig


def search_space(config: TuningConfig) -> keras_tuner.HyperParameters:
    """Every parameter with its range; names are the training section's keys."""
    space = keras_tuner.HyperParameters()
    for name, allowed in config.parameters.items():
        if allowed.choices:
            kind = int if allowed.whole else float
            space.Choice(name, [kind(value) for value in allowed.choices])
        elif allowed.whole:
            space.Int(name, *map(int, allowed.bounds), sampling=allowed.scale)
        else:
            space.Float(name, *map(float, allowed.bounds), sampling=allowed.scale)
    return space


def configured_values(config: TuningConfig, training: TrainingConfig) -> dict[str, Any] | None:
    """What the training section says of the parameters; None if a value is out of its range."""
    raw = training.model_dump(mode="json")
    values = {}
    for name, allowed in config.parameters.items():
        value: Any = raw
        for part in name.split("."):
            value = value[part]
        if not allowed.holds(value):
            return None
        values[name] = int(value) if allowed.whole else float(value)
    return values
