"""SentencepieceSpec: a SentencePiece model as a graph needs it."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from enum import StrEnum

SPACE = "\u2581"
"""What pieces write for a space."""


class SpaceInFront(StrEnum):
    """Which texts get a space in front that they do not begin with already (tokenizer.json's Metaspace)."""

    ALWAYS = "always"
    """Each text, and each part of one after a special token."""

    FIRST = "first"
    """The beginning of a text only."""


@dataclass(frozen=True)
class TextStart:
    """How the first pieces of a text are read: its decoding drops the space that encoding put there.

    Args:
        first_bytes: bytes of ids 0 … n − 1 where no text stands before them.
        begins: whether text stands before what follows the id.
    """

    first_bytes: tuple[bytes, ...]
    begins: tuple[bool, ...]

    @classmethod
    def of_pieces(
        cls, token_bytes: Sequence[bytes], spaced: Set[int], silent: Set[int], every: bool
    ) -> TextStart:
        """As SentencePiece decodes.

        Args:
            token_bytes: bytes of ids 0 … n − 1.
            spaced: ids of pieces that begin with `SPACE`; they lose it.
            silent: ids that SentencePiece shows as nothing, such as those of control pieces.
            every: whether pieces that are a space and nothing else are dropped until another comes.
        """
        first = [raw[1:] if index in spaced else raw for index, raw in enumerate(token_bytes)]
        heard = first if every else token_bytes
        begins = [index not in silent and bool(raw) for index, raw in enumerate(heard)]
        return cls(tuple(first), tuple(begins))


@dataclass(frozen=True, eq=False)
class SentencepieceSpec:
    """A model and the texts of its ids.

    Args:
        model: serialised ModelProto; piece numbers are token ids.
        token_bytes: bytes of ids 0 … n − 1: a piece with `SPACE` as a space, the byte of a byte piece,
            the surface of the unknown piece, the content of a control piece or an added token.
        start: how the first pieces of a text are read; None if as any other.
        space_in_front: which texts get a space in front, beside what the model itself adds; None: none.
    """

    model: bytes
    token_bytes: tuple[bytes, ...]
    start: TextStart | None = None
    space_in_front: SpaceInFront | None = None
