"""Lines of a file, one at a time, none of them longer in memory than allowed."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

BOM = b"\xef\xbb\xbf"

_KEPT = 1024
"""Bytes kept of a line that is too long."""


class Line(NamedTuple):
    """One line.

    Args:
        number: from 1 on.
        data: its bytes with the line end; only the beginning of one that is too long.
        size: bytes it has in the file.
    """

    number: int
    data: bytes
    size: int

    @property
    def whole(self) -> bool:
        """Whether `data` is all of it."""
        return len(self.data) == self.size


def read_lines(stream: BinaryIO, limit: int) -> Iterator[Line]:
    """The lines of a stream; a byte order mark at its beginning is left out.

    Lines end with line feeds; in a file whose first lines end with carriage returns alone, with those.

    Args:
        stream: at its beginning.
        limit: longest line in bytes.
    """
    beginning = stream.read(_KEPT * 64)
    classic = b"\r" in beginning and b"\n" not in beginning
    stream = io.BufferedReader(_Joined(beginning, stream, classic), 2**20)
    number = 0
    while data := stream.readline(limit + 1):
        number += 1
        if number == 1:
            data = data.removeprefix(BOM)
        if len(data) <= limit or data.endswith(b"\n"):
            yield Line(number, data, len(data))
            continue
        size = len(data)
        while data[-1:] != b"\n" and (more := stream.readline(2**20)):
            size += len(more)
            data = data[:_KEPT] + more[-1:]
        yield Line(number, data[:_KEPT], size)


class _Joined(io.RawIOBase):
    """What was read already and the rest, carriage returns made line feeds if wanted."""

    def __init__(self, beginning: bytes, rest: BinaryIO, classic: bool) -> None:
        self._beginning, self._rest, self._classic = beginning, rest, classic

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        wanted = len(buffer)
        data = self._beginning[:wanted] or self._rest.read(wanted)
        self._beginning = self._beginning[wanted:]
        buffer[: len(data)] = data.replace(b"\r", b"\n") if self._classic else data
        return len(data)
