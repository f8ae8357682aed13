"""Segment: a piece of a rendered conversation, tokenized by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

SPECIAL = 1
"""Bit of a segment's kind: it is a special token."""

LEARNED = 2
"""Bit of a segment's kind: a model is trained on it and scored on it."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A special token, or text without any.

    Args:
        text: of a special token its content, e.g. "<|im_end|>".
        special: whether it is a special token; text that only looks like one is none.
        learned: whether it belongs to an answer: what an assistant said, and the mark that ends it.
    """

    text: str
    special: bool = False
    learned: bool = False

    @property
    def kind(self) -> int:
        """The flags as bits, SPECIAL and LEARNED: the form in which examples keep them."""
        return SPECIAL * self.special + LEARNED * self.learned

    @classmethod
    def of_kind(cls, text: str, kind: int) -> Self:
        """The inverse of `kind`."""
        return cls(text, bool(kind & SPECIAL), bool(kind & LEARNED))
