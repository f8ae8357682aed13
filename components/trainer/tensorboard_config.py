"""TensorBoardConfig: what TensorBoard shows besides the curves."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

_Index = Annotated[int, Field(ge=0)]


class TensorBoardConfig(BaseModel):
    """Loss, rates, norms and speed are always written; maps and samples cost passes of the network."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    every_steps: int = Field(
        50, ge=1, description="Steps between two weight norms, attention maps and samples; the last step too."
    )
    attention: tuple[tuple[_Index, _Index], ...] = Field(
        (), description="Heads whose attention is drawn, as [layer, head] from 0."
    )
    attention_text: str = Field(
        "The old miller lifted the sack, and the cat that slept on it went looking for another one.",
        min_length=1,
        description="Text whose attention is drawn, at most its first 64 tokens.",
    )
    samples: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        (), description="Prompts that are continued greedily, so that one sees the model change."
    )
    sample_tokens: int = Field(32, ge=1, le=512, description="Tokens of each continuation.")
