"""TextGateConfig: what the candidate's completions must look like beside the baseline's."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class TextGateConfig(BaseModel):
    """Limits on the sampled completions, relative to the baseline's where a model's habit matters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: Literal["fail", "warn", "off"] = Field(
        default="warn",
        description="What follows from a missed limit: no blessing, a warning, or no check at all.",
    )
    max_repetition_increase: float = Field(
        default=0.2,
        ge=0,
        le=1,
        description="Most by which the share of repeated 4-grams may exceed the baseline's.",
    )
    min_distinct_ratio: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Least variety (distinct 2-grams over all), as a fraction of the baseline's.",
    )
    min_length_ratio: float = Field(
        default=0.5,
        ge=0,
        allow_inf_nan=False,
        description="Least mean length of a completion, as a fraction of the baseline's.",
    )
    max_length_ratio: float = Field(
        default=2.0,
        gt=0,
        allow_inf_nan=False,
        description="Greatest mean length of a completion, as a multiple of the baseline's.",
    )
    max_empty_share: float = Field(
        default=0.25, ge=0, le=1, description="Greatest share of completions without any text."
    )
