"""ExportConfig: sizes, weights and compilation of the model package that a run exports."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class ExportConfig(BaseModel):
    """Form of the exported package; all counts are tokens.

    A package without KV memory is no choice here: a run streams from what it exports before it pushes it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_length: int = Field(default=2048, ge=8, description="Most tokens of prompt and answer together.")
    kv_tokens: int = Field(
        default=8192, ge=8, description="Tokens of all running requests that fit into KV memory together."
    )
    block_size: int = Field(default=16, ge=1, le=1024, description="Tokens per KV block.")
    dtype: Literal["float32", "bfloat16", "int8"] = Field(
        default="float32",
        description="Type of the weights; others than float32 must pass `gate.max_parent_ratio`.",
    )
    xla: Literal["off", "latency", "throughput"] = Field(
        default="off",
        description="What decoding is compiled for: nothing, one stream at a time, or many.",
    )
    cores: int | None = Field(
        default=None, ge=1, description="Cores of the machine that will serve; this machine's if unset."
    )

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
