"""PostgresqlStore: ML Metadata on PostgreSQL, its faults worked round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message
from ml_metadata import metadata_store

_ESCAPE = "\ue05c"
"""A character of Unicode's private use area, which no corpus path or configuration holds in earnest."""
_ENCODED = ((_ESCAPE, _ESCAPE + "0"), ("\\", _ESCAPE + "1"), ("\0", _ESCAPE + "2"))


_BY_ID = {
    "GetArtifactsByID": ("artifact_ids", "artifacts"),
    "GetArtifactTypesByID": ("type_ids", "artifact_types"),
    "GetExecutionsByID": ("execution_ids", "executions"),
    "GetContextsByID": ("context_ids", "contexts"),
}
"""Method → fields of request and response whose order callers take to be the same."""


class PostgresqlStore(metadata_store.MetadataStore):
    """ML Metadata's store, with two faults of its PostgreSQL source worked round.

    **Backslashes.** Text is quoted by libpq's `PQescapeLiteral`, and the first and last character are cut
    off. For a text with a backslash the literal begins with ` E'`, so what is left is broken SQL and the
    statement fails (`EscapeString` in google/ml-metadata, metadata_store/postgresql_metadata_source.cc):
    any component whose parameters are JSON with an escaped character is hit. Backslashes, and NULs which
    end a text, are therefore written as private-use characters and read back; other readers of the
    database see those.

    **Order.** Rows are selected without ORDER BY, and PostgreSQL moves a row that is updated. TFX pairs
    the answer of `get_artifacts_by_id` with the ids it asked for (`get_cached_outputs` in tensorflow/tfx,
    orchestration/portable/cache_utils.py): a cached component's outputs get swapped. Answers are therefore
    put into the order asked for.
    """

    def _call_method(self, method_name: str, request: Message, response: Message) -> None:
        sent = type(request)()
        sent.CopyFrom(request)
        _map_text(sent, encode)
        super()._call_method(method_name, sent, response)
        _map_text(response, decode)
        if method_name in _BY_ID:
            ids, rows = _BY_ID[method_name]
            _sort(getattr(response, rows), list(getattr(request, ids)))


def _sort(rows: Any, ids: list[int]) -> None:
    places = {row_id: place for place, row_id in reversed(list(enumerate(ids)))}
    rows.sort(key=lambda row: places[row.id])


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
