"""A check that a table has the columns that are to be read."""

from __future__ import annotations

import difflib
from collections.abc import Container, Sequence

from models.contract.errors import DataError


def check_columns(columns: Sequence[str], wanted: Sequence[str], table: str, hint: str = "") -> None:
    """Refuse a table that lacks a wanted column or has it twice.

    Args:
        columns: the table's.
        wanted: those to read.
        table: what it is called, for messages.
        hint: what else to do about a missing column.

    Raises:
        DataError: names the column, those there are and the nearest.
    """
    for name in wanted:
        if name not in columns:
            near = difflib.get_close_matches(name, columns, n=1)
            nearest = f" Did you mean {near[0]!r}?" if near else nested(name, columns)
            raise DataError(
                f"{table} has no column {name!r}; its columns are {list(columns)[:20]}.{nearest}",
                field=name,
                remedy=f"{hint}Name the column in the source's `text_field`, `id_field` or `group_field`.",
            )
        if columns.count(name) > 1:
            raise DataError(
                f"{table} has {columns.count(name)} columns {name!r}; which is meant cannot be told.",
                field=name,
                remedy="Rename all but one of them, or name another column in the source.",
            )


def nested(name: str, there: Container[str]) -> str:
    """What a message about a missing field adds if the name looks like a path to a field within one."""
    outer = name.partition(".")[0]
    if outer == name or outer not in there:
        return ""
    return f" Only fields of the row itself can be named, not those within {outer!r}: write them flat."
