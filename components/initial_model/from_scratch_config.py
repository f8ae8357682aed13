"""FromScratchConfig: sizes and vocabulary of a model that starts from random weights."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from preprocessing.vocabulary_config import VocabularyConfig

_MULTIPLE = 32


class FromScratchConfig(BaseModel):
    """A network of the Llama family, and the vocabulary that is made for it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hidden_size: int = Field(256, ge=2, description="Width of the residual stream.")
    layers: int = Field(6, ge=1, description="Blocks.")
    heads: int = Field(8, ge=1, description="Query heads; they share the hidden size.")
    kv_heads: int | None = Field(
        None, ge=1, description="Key and value heads, a divisor of `heads`; by default as many."
    )
    intermediate_size: int | None = Field(
        None,
        ge=1,
        description="Width of the gated MLP; by default 8/3 of the hidden size, rounded up to a multiple of "
        "32.",
    )
    context: int = Field(1024, ge=2, description="Longest sequence, in tokens.")
    seed: int = Field(0, ge=0, description="Of the random weights; the same seed, the same weights.")
    vocabulary: VocabularyConfig = Field(
        default_factory=VocabularyConfig, description="The vocabulary, made of the training split."
    )

    @model_validator(mode="after")
    def _heads_share_the_width(self) -> Self:
        if self.hidden_size % (2 * self.heads):
            raise ValueError(
                f"`hidden_size` is {self.hidden_size}, which {self.heads} heads of an even width cannot "
                f"share: take a multiple of {2 * self.heads}, or another number of `heads`"
            )
        if self.heads % self.num_kv_heads:
            raise ValueError(
                f"`kv_heads` is {self.kv_heads}, no divisor of the {self.heads} `heads`: each must serve "
                "equally many"
            )
        return self

    @property
    def num_kv_heads(self) -> int:
        """Key and value heads."""
        return self.kv_heads or self.heads

    @property
    def mlp_width(self) -> int:
        """Width of the gated MLP: 8/3 of the hidden size gives it as many weights as a plain one of 4."""
        return self.intermediate_size or -(-8 * self.hidden_size // (3 * _MULTIPLE)) * _MULTIPLE
