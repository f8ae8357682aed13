"""NearDuplicateConfig: when two documents count as the same text, and what then."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class NearDuplicateConfig(BaseModel):
    """Near-duplicates within the corpus, found by MinHash over shingles of words and operators."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: Literal["drop", "report", "off"] = Field(
        "drop",
        description="Near-duplicates of an earlier document are left out (`drop`), only counted in the "
        "corpus report (`report`), or not looked for (`off`).",
    )
    threshold: float = Field(
        0.9,
        ge=0.3,
        le=1,
        description="Two documents are near-duplicates if they share at least this part of their shingles "
        "(Jaccard similarity, estimated).",
    )
    shingle: int = Field(
        7,
        ge=1,
        le=50,
        description="Words, operators and brackets per shingle; letters in scripts without spaces. Case, "
        "white space and the punctuation of sentences do not count.",
    )
    permutations: int = Field(
        128,
        ge=16,
        le=1024,
        description="Hashes per document, four bytes each: the similarity is exact to about half the inverse "
        "of their square root.",
    )
    seed: int = Field(1, ge=0, lt=2**32, description="Of the hash functions.")
