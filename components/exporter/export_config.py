"""ExportConfig: sizes of the model package that a run exports."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class ExportConfig(BaseModel):
    """Sizes of the exported package; all counts are tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_length: int = Field(default=2048, ge=8, description="Most tokens of prompt and answer together.")
    kv_tokens: int = Field(
        default=8192, ge=8, description="Tokens of all running requests that fit into KV memory together."
    )
    block_size: int = Field(default=16, ge=1, le=1024, description="Tokens per KV block.")

    @model_validator(mode="after")
    def _one_request_fits(self) -> Self:
        if self.kv_tokens < self.max_length:
            raise ValueError(
                f"`kv_tokens` is {self.kv_tokens}, less than `max_length` {self.max_length}: one request of "
                "full length would not fit. Raise `kv_tokens` or lower `max_length`."
            )
        return self

    @property
    def num_blocks(self) -> int:
        """KV blocks of the package, the null block counted."""
        return -(-self.kv_tokens // self.block_size) + 1
