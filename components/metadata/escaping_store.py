"""EscapingStore: a metadata store on PostgreSQL that keeps text with backslashes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message
from ml_metadata import metadata_store

_ESCAPE = "\ue05c"
"""A character of Unicode's private use area, which no corpus path or configuration holds in earnest."""
_ENCODED = ((_ESCAPE, _ESCAPE + "0"), ("\\", _ESCAPE + "1"), ("\0", _ESCAPE + "2"))


class EscapingStore(metadata_store.MetadataStore):
    """Writes backslashes and NUL characters as private-use characters and reads them back.

    ML Metadata quotes text by libpq's `PQescapeLiteral` and cuts off the first and the last character.
    For a text with a backslash the literal begins with ` E'`, so what is left is broken SQL and the
    statement fails: `EscapeString` in google/ml-metadata, metadata_store/postgresql_metadata_source.cc.
    Every component whose parameters are JSON with an escaped character is hit. Other readers of the
    database see the private-use characters.
    """

    def _call_method(self, method_name: str, request: Message, response: Message) -> None:
        sent = type(request)()
        sent.CopyFrom(request)
        _map_text(sent, encode)
        super()._call_method(method_name, sent, response)
        _map_text(response, decode)


def encode(text: str) -> str:
    """Text without backslash and NUL, from which `decode` makes `text` again."""
    for plain, encoded in _ENCODED:
        text = text.replace(plain, encoded)
    return text


def decode(text: str) -> str:
    """The text that `encode` was given."""
    for plain, encoded in reversed(_ENCODED):
        text = text.replace(encoded, plain)
    return text


def _map_text(message: Any, change: Callable[[str], str]) -> None:
    """Change all strings in a message, in place."""
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            _map_values(value, field.message_type.fields_by_name["value"], change)
        elif field.message_type is not None:
            for part in value if _is_repeated(field) else (value,):
                _map_text(part, change)
        elif field.type == field.TYPE_STRING:
            if _is_repeated(field):
                value[:] = [change(text) for text in value]
            else:
                setattr(message, field.name, change(value))


def _map_values(values: Any, kind: Any, change: Callable[[str], str]) -> None:
    for key in values:
        if kind.message_type is not None:
            _map_text(values[key], change)
        elif kind.type == kind.TYPE_STRING:
            values[key] = change(values[key])


def _is_repeated(field: Any) -> bool:
    return bool(field.is_repeated)
