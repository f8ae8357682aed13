"""VocabularyConfig: the vocabulary that is made for a model trained from scratch."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

BYTES = 256
"""Tokens that every byte-level vocabulary has: one per byte, so that any text can be written."""


MOST_TOKENS = 1_000_000
"""Several times the largest vocabularies in use; the trainer reserves memory for all of them at the start."""

MOST_FREQUENT = 2**31 - 1
"""The trainer counts pairs in 32 bits, so none is ever more frequent."""


class VocabularyConfig(BaseModel):
    """Byte-level BPE trained on the corpus, or a tokenizer that is there already."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: int = Field(
        8192,
        description="Tokens in all: the 256 bytes, the special tokens and what is learned from the training "
        "split.",
    )
    pattern: Literal["gpt2", "gpt2_digits", "llama3", "qwen2"] = Field(
        "gpt2_digits",
        description="How text is split into words, which no token crosses: GPT-2's way; the same with every "
        "digit by itself; Llama 3's (digits by threes, line ends with punctuation); Qwen2's (Llama 3's with "
        "every digit by itself).",
    )
    specials: tuple[str, ...] = Field(
        ("<|endoftext|>",),
        min_length=1,
        description="Special tokens, which no text is ever turned into; the first one ends a document.",
    )
    min_frequency: int = Field(2, ge=1, description="Times a pair must occur in the text to become a token.")
    max_bytes: int = Field(
        100_000_000,
        ge=1,
        description="Bytes of training text to learn from at most; of a larger corpus documents are drawn by "
        "a hash of their names.",
    )
    tokenizer: Path | None = Field(
        None,
        description="Folder of a tokenizer to take instead of making one, e.g. a checkpoint of an earlier "
        "run: only models with the same vocabulary are compared by the gate.",
    )

    @model_validator(mode="after")
    def _sizes_are_possible(self) -> Self:
        least = BYTES + len(self.specials)
        if self.size < least:
            raise ValueError(
                f"`size` is {self.size}, but {BYTES} bytes and {len(self.specials)} special tokens must have "
                f"room: set it to {least} or more"
            )
        if self.size > MOST_TOKENS:
            raise ValueError(f"`size` is {self.size}: set it to {MOST_TOKENS} or less")
        if self.min_frequency > MOST_FREQUENT:
            raise ValueError(f"`min_frequency` is {self.min_frequency}: set it to {MOST_FREQUENT} or less")
        return self

    @model_validator(mode="after")
    def _specials_have_names(self) -> Self:
        for content in self.specials:
            if any("\ud800" <= letter <= "\udfff" for letter in content):
                raise ValueError(
                    f"`specials` hold {content!r} with half a surrogate pair, which no text can: write both "
                    "halves or the character itself"
                )
        if len(set(self.specials)) < len(self.specials) or not all(self.specials):
            raise ValueError(f"`specials` are {list(self.specials)}: give each a name of its own")
        return self

    @model_validator(mode="after")
    def _settings_mean_something(self) -> Self:
        if self.tokenizer is not None and self != VocabularyConfig.model_construct(tokenizer=self.tokenizer):
            raise ValueError(
                "`tokenizer` takes a vocabulary as it is, so `size`, `pattern` and the other settings would "
                "change nothing: remove them or `tokenizer`"
            )
        return self
