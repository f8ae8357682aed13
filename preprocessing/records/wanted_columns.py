"""A check that a table has the columns that are to be read."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from models.contract.errors import DataError


def check_columns(columns: Sequence[str], wanted: Sequence[str], table: str) -> None:
    """Refuse a table that lacks a wanted column or has it twice.

    Args:
        columns: the table's.
        wanted: those to read.
        table: what it is called, for messages.

    Raises:
        DataError: names the column, those there are and the nearest.
    """
    for name in wanted:
        if columns.count(name) == 1:
            continue
        near = difflib.get_close_matches(name, columns, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        found = "has no column" if name not in columns else "has more than one column"
        raise DataError(
            f"{table} {found} {name!r}; its columns are {list(columns)[:20]}.{hint}",
            field=name,
            remedy="Name the column in the source's `text_field`, `id_field` or `group_field`, or set "
            "`format: text` to read the file as one text.",
        )
