"""Plain text: one document, or several of a long file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from preprocessing.records.bad_row import BadRow, beginning
from preprocessing.records.lines import BOM
from preprocessing.records.record import Record


def read_text(stream: BinaryIO, limit: int) -> Iterator[Record | BadRow]:
    """The text as one record of row 0, or cut into records of rows 1, 2, … of at most `limit` bytes.

    Cuts lie after line ends where there are some. The pieces join to the text again, without the byte order
    mark that it may begin with. A text that is
    not UTF-8 ends with a broken row whose detail names the byte; what came before it is no document
    either, which is for the caller to see to.

    Args:
        stream: at its beginning.
        limit: at least 4, the longest character.
    """
    buffer, offset, row = stream.read(len(BOM)), 0, 0
    if buffer == BOM:
        buffer, offset = b"", len(BOM)
    while True:
        buffer += stream.read(limit + 1 - len(buffer))
        stop = _cut(buffer, limit) if len(buffer) > limit else len(buffer)
        last = len(buffer) <= limit
        row += 0 if last and row == 0 else 1
        piece = buffer[:stop]
        try:
            piece.decode("utf-8")
        except UnicodeDecodeError as error:
            detail = f"not UTF-8 text at byte {offset + error.start}."
            yield BadRow(row, "not_utf8", detail, beginning(piece[error.start :]))
            return
        yield Record(row, piece)
        if last:
            return
        buffer, offset = buffer[stop:], offset + stop


def cut(text: bytes, limit: int) -> list[bytes]:
    """Cut UTF-8 text into pieces of at most `limit` bytes, after line ends where there are some.

    Args:
        text: UTF-8; the pieces joined give it again.
        limit: at least 4, the longest character.
    """
    pieces = []
    while len(text) > limit:
        stop = _cut(text, limit)
        pieces.append(text[:stop])
        text = text[stop:]
    return [*pieces, text]


def _cut(text: bytes, limit: int) -> int:
    """Where to cut a text that is longer than `limit`: after a line or between two characters."""
    stop = text.rfind(b"\n", 0, limit) + 1
    if stop:
        return stop
    starts = (place for place in range(limit, limit - 4, -1) if text[place] & 0xC0 != 0x80)
    return next(starts, limit)
