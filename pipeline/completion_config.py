"""CompletionConfig: what the pushed package is asked at the end of a run."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class CompletionConfig(BaseModel):
    """One greedy completion, streamed as proof that the pushed package serves."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: str = Field(default="def fibonacci(", min_length=1, description="The prompt.")
    max_tokens: int = Field(default=64, ge=1, description="Most tokens to stream.")
