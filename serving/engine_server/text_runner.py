"""TextRunner: the tokenizer side of a model runner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class TextRunner(Protocol):
    """Text ↔ ids through the package's own signatures."""

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text."""

    def detokenize(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Text of each row of ids."""
