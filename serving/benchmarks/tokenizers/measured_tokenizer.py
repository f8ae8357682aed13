"""MeasuredTokenizer: what a tokenizer must offer to take part in a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class MeasuredTokenizer(Protocol):
    """Texts to ids in three steps, of which the middle one is timed.

    Attributes:
        name: in tables; unique in a benchmark.
    """

    name: str

    def prepare(self, texts: Sequence[bytes]) -> Any:
        """The texts in the form that `encode` takes; what is not UTF-8 is U+FFFD."""

    def encode(self, prepared: Any) -> Any:
        """Encode them; the timed step."""

    def ids(self, encoded: Any) -> list[list[int]]:
        """What `encode` found, as lists."""
