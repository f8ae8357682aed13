"""TrainingValidationConfig: the loss on held-out text while training."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class TrainingValidationConfig(BaseModel):
    """Which part of the eval split is scored when; also before the first step and after the last."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    every_steps: int = Field(25, ge=0, description="Steps between two validations; 0 turns them off.")
    tokens: int = Field(
        4096,
        ge=1,
        description="Held-out tokens of one validation, rounded up to whole rows; always the same ones. "
        "1,000 cost about a third of what training on 1,000 costs.",
    )
    sequence_length: int | None = Field(
        None,
        ge=2,
        description="Tokens per held-out row; by default `training.sequence_length` as configured, also for "
        "trials of the tuner that train with another: losses of rows of different lengths do not compare.",
    )
