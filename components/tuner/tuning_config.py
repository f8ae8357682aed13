"""TuningConfig: the search for hyperparameters before training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from components.trainer.hyperparameters import with_values
from components.trainer.training_config import TrainingConfig
from components.tuner.parameter_range import ParameterRange

TUNABLE = (
    "learning_rate",
    "warmup_fraction",
    "final_learning_rate_fraction",
    "weight_decay",
    "beta_1",
    "beta_2",
    "epsilon",
    "clip_norm",
    "batch_size",
    "gradient_accumulation_steps",
    "sequence_length",
    "lora.rank",
    "lora.alpha",
    "lora.dropout",
)
"""Keys of the training section that may be searched."""

ADAPTER_KEYS = "lora."
"""Beginning of the keys that mean something to `training.method: lora` only."""


class TuningConfig(BaseModel):
    """Trains several times with other hyperparameters and takes those with the least validation loss."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parameters: Mapping[str, ParameterRange] = Field(
        min_length=1,
        description="What to search: keys of the training section, e.g. `learning_rate: {min: 1.0e-5, "
        "max: 1.0e-3, scale: log}` or `lora.rank: {choices: [4, 8, 16]}`.",
    )
    trials: int = Field(
        8, ge=1, le=1000, description="Trainings; the first has the configured values, if they are in range."
    )
    tokens: int | None = Field(
        None, ge=1, description="Training tokens of one trial; by default those of the training."
    )
    algorithm: Literal["random", "bayesian"] = Field(
        "random", description="How values are drawn; `bayesian` learns from earlier trials."
    )
    seed: int = Field(0, ge=0, description="Decides the values that are tried.")

    @model_validator(mode="after")
    def _parameters_are_tunable(self) -> Self:
        for name, allowed in self.parameters.items():
            if name not in TUNABLE:
                raise ValueError(f"`parameters.{name}` cannot be searched; these can: {', '.join(TUNABLE)}")
            for value in allowed.bounds:
                _check(name, value)
        return self


def _check(name: str, value: float) -> None:
    method = "lora" if name.startswith(ADAPTER_KEYS) else "full"
    try:
        with_values(TrainingConfig(method=method), {name: value})
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise ValueError(f"`parameters.{name}`: {value} is no value of it: {reason.lower()}") from error
