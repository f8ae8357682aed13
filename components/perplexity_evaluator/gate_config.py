"""GateConfig: what a model must reach to be blessed."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from components.perplexity_evaluator.slice_gate_config import SliceGateConfig
from components.perplexity_evaluator.text_gate_config import TextGateConfig


class GateConfig(BaseModel):
    """Limits on the candidate's perplexity, on its slices and on its completions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_ratio: float = Field(
        default=1.00,
        gt=0,
        allow_inf_nan=False,
        description="Most the candidate's perplexity may be, as a multiple of the baseline's.",
    )
    max_fraction: float = Field(
        default=0.1,
        gt=0,
        le=1,
        description="Most the candidate's perplexity may be, as a fraction of the vocabulary's size.",
    )
    max_parent_ratio: float = Field(
        default=1.05,
        gt=0,
        allow_inf_nan=False,
        description="Most the perplexity of a package with bfloat16 or int8 weights may be, as a multiple of "
        "that of the float32 weights it was made of.",
    )
    chance: Literal["fail", "warn", "off"] = Field(
        default="warn",
        description="What follows if the ratio is within its limit but may be so by chance, its interval "
        "reaching above the limit, or above 1 after a gain: no blessing, a warning, or no check at all.",
    )
    slices: SliceGateConfig = Field(
        default_factory=SliceGateConfig, description="Limits on every part of the held-out text."
    )
    texts: TextGateConfig = Field(
        default_factory=TextGateConfig, description="Limits on the completions shown side by side."
    )
