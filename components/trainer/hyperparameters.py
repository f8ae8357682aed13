"""Hyperparameters: what a Tuner found, put into a TrainingConfig."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.trainer.training_config import TrainingConfig


def with_hyperparameters(config: TrainingConfig, found: Mapping[str, Any] | None) -> TrainingConfig:
    """The configuration with the values of a Tuner's best trial.

    Args:
        config: of the run.
        found: KerasTuner's `HyperParameters` as its `get_config` gives them; names in `values` are fields
            of the configuration, with dots for those of a section. None changes nothing.
    """
    return with_values(config, found["values"]) if found else config


def with_values(config: TrainingConfig, values: Mapping[str, Any]) -> TrainingConfig:
    """The configuration with other values, by names with dots, e.g. `lora.rank`.

    Raises:
        ValueError: pydantic's, if a name or value is none that the configuration takes.
    """
    raw = config.model_dump(mode="json")
    for name, value in values.items():
        *sections, key = name.split(".")
        section = raw
        for part in sections:
            section = section[part]
        section[key] = value
    return TrainingConfig.model_validate(raw)
