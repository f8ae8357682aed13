"""Record: one document of a corpus, as its file holds it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Record:
    """One readable document.

    Args:
        row: its number in the file from 1 on (a line of JSON Lines, a row below the header of CSV, a
            piece of a long text); 0 for a text that is one document.
        text: UTF-8.
        group: value of the group field, or None.
        identifier: value of the id field, or None.
        segments: UTF-8 texts of a rendered conversation, which join to `text`; none for other formats.
        kinds: of each segment (`Segment.kind`).
        said: UTF-8 of a conversation without the template's text and the system's instructions.
    """

    row: int
    text: bytes
    group: str | None = None
    identifier: str | None = None
    segments: tuple[bytes, ...] = ()
    kinds: tuple[int, ...] = ()
    said: bytes = b""

    @property
    def compared(self) -> bytes:
        """What near-duplicates and leaks are looked for in: the text, or what was said."""
        return self.said or self.text

    @property
    def blank(self) -> bool:
        """Whether the text is white space only."""
        return not self.text or self.text.isspace() or not self.text.decode().strip()

    def digest(self) -> bytes:
        """sha256 of everything that training sees of it: 32 bytes."""
        found = hashlib.sha256(self.text)
        # A text and a conversation that renders to it are trained on differently.
        for segment, kind in zip(self.segments, self.kinds, strict=True):
            found.update(b"%d %d;" % (len(segment), kind))
        return found.digest()
