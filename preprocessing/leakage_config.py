"""LeakageConfig: when a training document gives a held-out one away, and what then."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class LeakageConfig(BaseModel):
    """Training documents that hold most of a held-out document's text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: Literal["drop", "fail", "report", "off"] = Field(
        "drop",
        description="Such a training document is left out (`drop`), stops the run (`fail`), is only counted "
        "in the corpus report (`report`), or not looked for (`off`).",
    )
    threshold: float = Field(
        0.8,
        gt=0,
        le=1,
        description="Part of a held-out document's shingles that a training document must hold to leak it.",
    )
    shingle: int = Field(
        7,
        ge=1,
        le=50,
        description="Words, operators and brackets per shingle; letters in scripts without spaces. Case, "
        "white space and the punctuation of sentences do not count.",
    )
