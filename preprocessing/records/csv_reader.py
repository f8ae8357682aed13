"""CSV with a header line, row by row."""

from __future__ import annotations

import csv
import json
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO

from models.contract.errors import DataError
from preprocessing.records.bad_row import BadRow, beginning
from preprocessing.records.lines import Line, read_lines
from preprocessing.records.record import Record
from preprocessing.records.record_fields import RecordFields
from preprocessing.records.wanted_columns import check_columns


def read_csv(
    stream: BinaryIO, fields: RecordFields, delimiter: str, limit: int, name: str
) -> Iterator[Record | BadRow]:
    """Records of a CSV file (RFC 4180: quoted fields may hold delimiters, line ends and doubled quotes).

    Args:
        stream: at its beginning.
        fields: which columns to read.
        delimiter: between columns.
        limit: longest row in bytes; a longer one is a broken row.
        name: of the file, for messages.

    Raises:
        DataError: the header is not UTF-8 or lacks a wanted column.
    """
    csv.field_size_limit(max(csv.field_size_limit(), limit))
    rows = _Rows(stream, delimiter, limit)
    header = next(rows, None)
    if header is None:
        return
    columns, _, fault = header
    if fault is not None:
        raise DataError(
            f"CSV file {name}: the header is broken: {fault[1]}",
            field=name,
            remedy="Convert the file to UTF-8 with a header line of column names.",
        )
    check_columns(columns, fields.names, f"CSV file {name}", _other_delimiter(columns, delimiter))
    for number, (cells, raw, fault) in enumerate(rows, start=1):
        if fault is None and len(cells) != len(columns):
            fault = "wrong_columns", f"the row has {len(cells)} columns, the header {len(columns)}."
        if fault is not None:
            yield BadRow(number, *fault, beginning(raw))
        else:
            yield fields.record(number, dict(zip(columns, cells, strict=True)), raw)


def _other_delimiter(columns: list[str], delimiter: str) -> str:
    """A remedy if the header looks as if something else separated its columns."""
    if len(columns) != 1:
        return ""
    found = next((one for one in ";\t|," if one != delimiter and one in columns[0]), None)
    return "" if found is None else f"Set the source's `delimiter: {json.dumps(found)}`. "


class _Rows:
    """Rows as (cells, beginning of the row, fault or None).

    After a row that is broken by its quotes, reading goes on with the line after the one it began in:
    a quote that is never closed costs one row, not the rest of the file.
    """

    def __init__(self, stream: BinaryIO, delimiter: str, limit: int) -> None:
        self._lines = read_lines(stream, limit)
        self._delimiter = delimiter
        self._limit = limit
        self._again: deque[Line] = deque()
        self._used: list[Line] = []

    def __iter__(self) -> Iterator[tuple[list[str], bytes, tuple[str, str] | None]]:
        return self

    def __next__(self) -> tuple[list[str], bytes, tuple[str, str] | None]:
        while True:
            self._used = []
            reader = csv.reader(self._feed(), delimiter=self._delimiter, strict=True)
            try:
                cells = next(reader)
            except csv.Error as error:
                return [], self._used[0].data, self._broken(error)
            raw = self._used[0].data
            if not all(line.whole for line in self._used):
                return [], raw, self._broken(csv.Error("a line is too long"))
            if cells:
                return cells, raw, _not_utf8(cells)

    def _broken(self, error: csv.Error) -> tuple[str, str]:
        first, last, size = self._used[0].number, self._used[-1].number, sum(x.size for x in self._used)
        where = f"line {first}" if first == last else f"lines {first} to {last}"
        if size > self._limit and first == last:
            return "too_long", f"{where}: the row has {size} bytes, more than {self._limit}."
        self._again.extendleft(reversed(self._used[1:]))
        return "not_csv", f"{where}: {error}."

    def _feed(self) -> Iterator[str]:
        """Lines of one row; none once they are more than the limit together."""
        size = 0
        while size <= self._limit:
            line = self._again.popleft() if self._again else next(self._lines, None)
            if line is None:
                return
            self._used.append(line)
            size += line.size
            yield line.data.decode("utf-8", "surrogateescape")


def _not_utf8(cells: list[str]) -> tuple[str, str] | None:
    for number, cell in enumerate(cells, start=1):
        try:
            cell.encode("utf-8")
        except UnicodeEncodeError as error:
            return "not_utf8", f"column {number} is not UTF-8 at its character {error.start}."
    return None
