"""EarlyStoppingConfig: when training ends before its last step."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class EarlyStoppingConfig(BaseModel):
    """Training ends when the validation loss has stopped falling, and the best weights are taken."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    patience: int = Field(
        3, ge=1, description="Validations in a row without an improvement after which training ends."
    )
    min_delta: float = Field(
        0.0,
        ge=0,
        description="An improvement is a validation loss lower than at the last one by more than this. It "
        "decides only when training ends: the weights taken are those of the least loss.",
    )
