"""BadRow: a row of a corpus file that is no document, and why."""

from __future__ import annotations

from dataclasses import dataclass

RAW_CHARACTERS = 200
"""How much of a broken row is kept to recognise it by."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be used.

    Args:
        row: its number, as in Record.
        reason: stable name for counts: `not_utf8`, `too_long`, `not_json`, `not_object`, `not_csv`,
            `wrong_columns`, `not_example`, `missing_field`, `wrong_type` or `bad_messages`.
        detail: what exactly is wrong, for people.
        raw: the row's beginning.
    """

    row: int
    reason: str
    detail: str
    raw: str = ""


def beginning(raw: bytes | str) -> str:
    """The beginning of a row as text; bytes that are not UTF-8 become escapes."""
    if isinstance(raw, bytes):
        raw = raw[: 4 * RAW_CHARACTERS].decode("utf-8", "backslashreplace")
    # Surrogates stand for bytes that could not be decoded.
    return raw[:RAW_CHARACTERS].rstrip("\r\n").encode("utf-8", "backslashreplace").decode()
