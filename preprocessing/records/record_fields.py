"""RecordFields: a row's named values to a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from models.contract.errors import TokenmillError
from preprocessing.records.bad_row import BadRow, beginning
from preprocessing.records.lines import BOM
from preprocessing.records.record import Record
from preprocessing.records.wanted_columns import nested

Rendered = tuple[tuple[bytes, ...], tuple[int, ...], bytes]
"""Segments of a conversation, their kinds, and what was said (`Record.said`)."""


class _UnfitError(Exception):
    """A value that is missing or of the wrong type: reason and detail."""


@dataclass(frozen=True, slots=True)
class RecordFields:
    """Which fields of a row are text, id and group.

    Args:
        text: field of the text, or of a conversation's messages.
        identifier: field of the id, or None.
        group: field of the group, or None.
        render: renders messages, or None where the text is text; raises TokenmillError for messages
            that are none.
    """

    text: str
    identifier: str | None = None
    group: str | None = None
    render: Callable[[Any], Rendered] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that are read, each once."""
        wanted = (self.text, self.identifier, self.group)
        return tuple(dict.fromkeys(name for name in wanted if name is not None))

    def record(self, row: int, values: Mapping[str, Any], raw: bytes | str) -> Record | BadRow:
        """The record of a row, or why there is none.

        Args:
            row: its number.
            values: of its fields; texts as str, or as bytes that may not be UTF-8.
            raw: the row as the file holds it, or its beginning.
        """
        try:
            segments, kinds, said = self._segments(values)
            text = b"".join(segments) if self.render else _text(values, self.text)
            identifier, group = (_label(values, name) for name in (self.identifier, self.group))
            return Record(row, text, group, identifier, segments, kinds, said)
        except _UnfitError as fault:
            return BadRow(row, fault.args[0], fault.args[1], beginning(raw))

    def _segments(self, values: Mapping[str, Any]) -> Rendered:
        if self.render is None:
            return (), (), b""
        messages = _value(values, self.text)
        if not isinstance(messages, list):
            raise _wrong_type(self.text, messages, "a list of messages")
        try:
            return self.render(messages)
        except TokenmillError as error:
            raise _UnfitError("bad_messages", str(error)) from error


def _value(values: Mapping[str, Any], name: str) -> Any:
    value = values.get(name)
    if value is None:
        if name in values:
            raise _UnfitError("missing_field", f"field {name!r} is null.")
        near = ", ".join(repr(key) for key in list(values)[:10]) or "no fields"
        raise _UnfitError(
            "missing_field", f"there is no field {name!r}; the row has {near}.{nested(name, values)}"
        )
    return value


def _text(values: Mapping[str, Any], name: str) -> bytes:
    value = _value(values, name)
    if isinstance(value, str):
        return value.encode("utf-8").removeprefix(BOM)
    if not isinstance(value, bytes):
        raise _wrong_type(name, value, "a text")
    try:
        value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _UnfitError("not_utf8", f"field {name!r} is not UTF-8 at its byte {error.start}.") from error
    return value.removeprefix(BOM)


def _label(values: Mapping[str, Any], name: str | None) -> str | None:
    """An id or group: a text, or a number as text."""
    if name is None:
        return None
    value = _value(values, name)
    if value in ("", b""):
        raise _UnfitError("missing_field", f"field {name!r} is empty.")
    if isinstance(value, str | bytes):
        return _text(values, name).decode()
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong_type(name, value, "a text or a whole number")
    return str(value)


def _wrong_type(name: str, value: Any, wanted: str) -> _UnfitError:
    return _UnfitError("wrong_type", f"field {name!r} is {_kind(value)}, not {wanted}.")


def _kind(value: Any) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "a text", bytes: "bytes"}
    return names.get(type(value), "a list" if isinstance(value, list) else "an object")
