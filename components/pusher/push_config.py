"""PushConfig: where blessed packages go."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class PushConfig(BaseModel):
    """The push directory: versions appear as `<directory>/<model name>/<version>/`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    directory: Path = Field(
        default=Path(".tokenmill/models"), description="Folder that servers read packages from."
    )
    keep: int | None = Field(
        default=None,
        ge=1,
        description="Newest blessed versions that stay after a push; older ones without a label go. "
        "By default all stay.",
    )
