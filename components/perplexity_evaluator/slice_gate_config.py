"""SliceGateConfig: what a model must reach on every part of the held-out text."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Ratio = Annotated[float, Field(gt=0, allow_inf_nan=False)]

DEFAULT_SLACK = 1.1


class SliceGateConfig(BaseModel):
    """Limits per slice, so that a gain on the whole cannot hide a loss on a part.

    A slice whose ratio is above its limit while the interval reaches down to that limit may be so by
    chance: a warning, whatever `action` is. One that is too small is not judged; if all of its interval, or
    without one its ratio by half, is above the limit, that is a warning too.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: Literal["fail", "warn", "off"] = Field(
        default="fail",
        description="What follows from a slice above its limit: no blessing, a warning, or no check at all.",
    )
    max_ratio: Ratio | None = Field(
        default=None,
        description="Most a slice's perplexity may be, as a multiple of the baseline's on the same slice; "
        "1.1 × `gate.max_ratio` if unset.",
    )
    limits: dict[str, Ratio] = Field(
        default_factory=dict,
        description="Other limits for single slices, by `<property>=<value>`, e.g. `source=contracts: 1.0`.",
    )
    min_documents: int = Field(
        default=5, ge=2, description="Documents a slice must have to be judged; fewer say too little."
    )
    min_tokens: int = Field(default=500, ge=1, description="Scored tokens a slice must have to be judged.")

    def limit(self, key: str, overall: float) -> float:
        """The limit of a slice.

        Args:
            key: `<property>=<value>`.
            overall: `gate.max_ratio`.
        """
        return self.limits.get(key, self.max_ratio or DEFAULT_SLACK * overall)
