"""ValidationConfig: how the exported package is tried out before it may be pushed."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ValidationConfig(BaseModel):
    """Prompts and lengths of the cached streams that are compared with the uncached forward."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompts: tuple[str, ...] = Field(
        default=("The", "def fibonacci(n):\n    ", "In the beginning of the story, the old miller"),
        min_length=1,
        description="Prompts whose greedy continuations are streamed and compared.",
    )
    max_tokens: int = Field(default=24, ge=2, description="Tokens streamed per prompt.")
    margin: float = Field(
        default=1e-3,
        ge=0,
        le=0.1,
        description="Two best logits closer than this may swap; comparison of that stream ends there. "
        "Rounding needs 0.001; with more than 0.1 too little would be compared.",
    )
