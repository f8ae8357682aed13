"""JSON Lines: one object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import BinaryIO

import orjson

from preprocessing.records.bad_row import BadRow, beginning
from preprocessing.records.lines import Line, read_lines
from preprocessing.records.record import Record
from preprocessing.records.record_fields import RecordFields


def read_jsonl(stream: BinaryIO, fields: RecordFields, limit: int) -> Iterator[Record | BadRow]:
    """Records of a JSON Lines file; empty lines are passed over.

    Args:
        stream: at its beginning.
        fields: which fields to read.
        limit: longest line in bytes; a longer one is a broken row.
    """
    for line in read_lines(stream, limit):
        if line.data.strip():
            yield _record(line, fields, limit)


def _record(line: Line, fields: RecordFields, limit: int) -> Record | BadRow:
    if not line.whole:
        return _bad(line, "too_long", f"the line has {line.size} bytes, more than {limit}.")
    try:
        values = orjson.loads(line.data)
    except orjson.JSONDecodeError as error:
        try:
            line.data.decode("utf-8")
        except UnicodeDecodeError as fault:
            return _bad(line, "not_utf8", f"the line is not UTF-8 at its byte {fault.start}.")
        return _bad(line, "not_json", f"the line is not JSON: {error}.")
    if not isinstance(values, dict):
        return _bad(line, "not_object", "the line holds no object, i.e. no {...} with named fields.")
    if any(isinstance(values.get(name), float) for name in (fields.identifier, fields.group) if name):
        # orjson makes whole numbers of more than 64 bits floats.
        values = json.loads(line.data)
    return fields.record(line.number, values, line.data)


def _bad(line: Line, reason: str, detail: str) -> BadRow:
    return BadRow(line.number, reason, detail, beginning(line.data))
