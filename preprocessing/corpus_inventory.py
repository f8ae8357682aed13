"""The inventory of a corpus: what reading a file tells about it, some bytes per document."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from models.contract.errors import TokenmillError
from preprocessing.corpus_files import CorpusFile
from preprocessing.corpus_group import group_of, group_rank
from preprocessing.records.bad_row import BadRow
from preprocessing.records.read_records import read_records
from preprocessing.records.read_settings import ReadSettings
from preprocessing.records.record import Record

DOCUMENT = np.dtype(
    [
        ("digest", "<u8", 2),
        ("identifier", "<u8"),
        ("group", "<u8"),
        ("row", "<u4"),
        ("size", "<u4"),
    ]
)
"""One document: the first 128 bits of its hash, hash of its id (0: none), rank of its group, row, bytes."""

Documents = npt.NDArray[np.void]

EXAMPLES = 20
"""How many of a kind a report names."""

BLOCK = 2**14
"""Documents described at once: as Python objects they would take ten times the memory."""


@dataclass(slots=True)
class FileSummary:
    """One inspected file in numbers.

    Args:
        rows: how many it has, broken and blank ones included; a text counts as one if it is broken.
        blank: rows of white space only.
        blank_rows: numbers of the first of them.
        reasons: how many rows are broken, by reason.
        fault: why the file cannot be read: message, field and remedy.
        bad_text: why a text file is no text.
    """

    rows: int = 0
    blank: int = 0
    blank_rows: list[int] = field(default_factory=list)
    reasons: dict[str, int] = field(default_factory=dict)
    fault: list[str | None] | None = None
    bad_text: str | None = None

    @property
    def bad_rows(self) -> int:
        """Broken rows."""
        return sum(self.reasons.values())

    def count(self, item: Record | BadRow, file_format: str) -> None:
        """Take a row in."""
        self.rows += 1
        if isinstance(item, BadRow):
            self.reasons[item.reason] = self.reasons.get(item.reason, 0) + 1
            if file_format == "text":
                # A text with a broken place is no text: its good pieces are none either.
                self.rows, self.bad_text = 1, item.detail
        elif item.blank:
            self.blank += 1
            self.blank_rows += [item.row] if len(self.blank_rows) < EXAMPLES else []


def inspect_file(
    file: CorpusFile, settings: ReadSettings, *, group_depth: int, seed: int
) -> Iterator[Documents | BadRow | FileSummary]:
    """Read a file once: blocks of its documents, its broken rows, and at the end its summary.

    Nothing is raised for a fault of the file: it becomes part of the summary. Documents are those that
    are readable and not blank; those of a text that turns out to be broken must be put away.

    Args:
        file: any.
        settings: of its source.
        group_depth: `CorpusConfig.group_depth`.
        seed: of the split.
    """
    summary = FileSummary()
    block, filled = np.empty(BLOCK, DOCUMENT), 0
    try:
        for item in read_records(file, settings):
            summary.count(item, file.format)
            if isinstance(item, BadRow):
                yield item
            elif not item.blank:
                block[filled] = _describe(item, file, group_depth, seed)
                filled += 1
            if filled == BLOCK:
                yield block.copy()
                filled = 0
    except TokenmillError as error:
        summary.fault = [error.message, error.field, error.remedy]
    yield block[:filled].copy()
    yield summary


def usable_records(file: CorpusFile, settings: ReadSettings) -> Iterator[Record]:
    """The records that an inventory lists, in its order.

    Raises:
        DataError: see `read_records`.
    """
    for item in read_records(file, settings):
        if isinstance(item, Record) and not item.blank:
            yield item


def _describe(record: Record, file: CorpusFile, depth: int, seed: int) -> tuple[object, ...]:
    digest = record.digest()
    return (
        (int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")),
        _identifier(file.source, record.identifier),
        group_rank(group_of(file, record, depth), seed),
        record.row,
        len(record.text),
    )


def _identifier(source: str, identifier: str | None) -> int:
    if identifier is None:
        return 0
    digest = hashlib.sha256(f"{source}\0{identifier}".encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:8], "little") or 1
