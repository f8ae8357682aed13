"""SampleConfig: which completions the evaluation shows side by side."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class SampleConfig(BaseModel):
    """Greedy completions of held-out prompts, by candidate and baseline alike."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompts: int = Field(
        default=6, ge=0, le=100, description="Held-out prompts that both models complete; 0 for none."
    )
    prompt_tokens: int = Field(
        default=48,
        ge=1,
        description="Tokens of each prompt of plain text; of a conversation, all before an answer is given.",
    )
    max_tokens: int = Field(default=48, ge=1, le=1024, description="Tokens of each completion at most.")
