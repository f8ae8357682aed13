"""EvaluationConfig: on what, and how, perplexity is measured."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from components.perplexity_evaluator.sample_config import SampleConfig


class EvaluationConfig(BaseModel):
    """Windows, amount of held-out text and the interval's resampling."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    context: int = Field(default=512, ge=2, description="Tokens per window.")
    stride: int | None = Field(
        default=None,
        ge=1,
        description="Tokens from one window's start to the next; half the context if unset.",
    )
    num_tokens: int = Field(
        default=20_480,
        ge=1,
        description="Held-out tokens to score at least, in whole windows; all if there are fewer.",
    )
    batch_size: int = Field(default=4, ge=1, description="Windows per forward pass.")
    bootstrap_samples: int = Field(default=2000, ge=100, description="Resamples of the paired interval.")
    confidence: float = Field(default=0.95, gt=0.5, lt=1.0, description="Level of the paired interval.")
    seed: int = Field(default=0, description="Seed of the resampling.")
    samples: SampleConfig = Field(default_factory=SampleConfig, description="Completions shown side by side.")

    @model_validator(mode="after")
    def _stride_within_context(self) -> Self:
        if self.stride is not None and self.stride > self.context:
            raise ValueError(
                f"`stride` is {self.stride}, more than `context` {self.context}: tokens between the windows "
                "would never be scored."
            )
        return self

    @property
    def effective_stride(self) -> int:
        """The stride in tokens, its default applied."""
        return self.stride if self.stride is not None else max(1, self.context // 2)
