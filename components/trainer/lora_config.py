"""LoraConfig: low-rank adapters instead of all weights."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class LoraConfig(BaseModel):
    """Size and place of the adapters; used by `training.method: lora`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rank: int = Field(8, ge=1, le=1024, description="Inner width of the low-rank products.")
    alpha: float = Field(
        16.0, gt=0, description="The products are scaled by alpha / rank before they are added."
    )
    dropout: float = Field(
        0.0, ge=0, lt=1, description="Share of an adapter's inputs that is dropped in training."
    )
    targets: Literal["all-linear"] | tuple[str, ...] = Field(
        "all-linear",
        description="Linear layers to adapt, by their names in the checkpoint, e.g. [q_proj, v_proj]; "
        "all-linear takes all of the blocks.",
    )
