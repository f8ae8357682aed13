"""CorpusDocument: what inspecting one file of a corpus tells about it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Self

from models.contract.errors import DataError
from preprocessing.corpus_files import CorpusFile


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    """One inspected file.

    Args:
        source: name of its source.
        path: relative to the source's folder.
        location: where it lies.
        size: bytes.
        digest: sha256 of its bytes.
        blank: whether it holds white space only.
        bad_offset: of the first byte that is not UTF-8, or None.
    """

    source: str
    path: str
    location: str
    size: int
    digest: str
    blank: bool = False
    bad_offset: int | None = None

    @classmethod
    def inspect(cls, file: CorpusFile) -> Self:
        """Read a file and describe it; its order in the corpus is kept by the caller.

        Raises:
            DataError: the file cannot be read.
        """
        data = read_bytes(file.location)
        try:
            blank, offset = not data.decode("utf-8").strip(), None
        except UnicodeDecodeError as error:
            blank, offset = False, error.start
        digest = hashlib.sha256(data).hexdigest()
        return cls(file.source, file.path, file.location, len(data), digest, blank, offset)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`."""
        return cls(**json.loads(text))

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self))

    def group(self, depth: int) -> str:
        """The leading parts of the path; the name of a file loses its suffix.

        A module and the package of the same name are one group. The source does not count:
        folders of the same name in two sources hold versions of the same thing.
        """
        parts = PurePosixPath(self.path).parts
        if len(parts) > depth:
            return "/".join(parts[:depth])
        return "/".join((*parts[:-1], PurePosixPath(parts[-1]).stem))


def read_bytes(location: str) -> bytes:
    """The bytes of a file.

    Raises:
        DataError: it cannot be read.
    """
    try:
        return Path(location).read_bytes()
    except OSError as error:
        raise DataError(
            f"corpus file {location} cannot be read: {error.strerror}.",
            field=location,
            remedy="Give read permission, exclude the file, or run again if it has just been removed.",
        ) from error


def cut(text: bytes, limit: int) -> list[bytes]:
    """Cut UTF-8 text into pieces of at most `limit` bytes, after line ends where there are some.

    Args:
        text: UTF-8; the pieces joined give it again.
        limit: at least 4, the longest character.
    """
    pieces, start = [], 0
    while len(text) - start > limit:
        stop = text.rfind(b"\n", start, start + limit) + 1
        if stop <= start:
            stop = start + limit
            while text[stop] & 0xC0 == 0x80:
                stop -= 1
        pieces.append(text[start:stop])
        start = stop
    return [*pieces, text[start:]]
