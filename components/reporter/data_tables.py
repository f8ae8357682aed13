"""The corpus report as facts and tables, whatever counts it holds. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from components.reporter.wording import NONE, number, percent, size

_MOST_ROWS = 20
_FOLDED_FROM = 12
_BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class DataTable:
    """One part of the corpus report.

    Args:
        title: what it is about.
        count: how many entries there are; shown beside the title of a long list.
        header: names of the columns, empty without a table.
        rows: the first cells.
        more: entries that are not shown.
        folded: whether it is shown only when asked for.
    """

    title: str
    count: int
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = field(default=())
    more: int = 0
    folded: bool = False


def data_tables(report: Mapping[str, Any]) -> list[DataTable]:
    """Tables of a corpus report: single figures first, then one table per section.

    Args:
        report: `corpus_report.json`; sections may be figures, mappings, or lists.
    """
    plain = {k: v for k, v in report.items() if v is not None and not isinstance(v, (Mapping, list))}
    tables = [_facts("counts", plain)] if plain else []
    for key, value in report.items():
        title = _title(key)
        if isinstance(value, Mapping) and value:
            tables += _mapping(title, value)
        elif isinstance(value, list):
            tables.append(_list(title, value))
    return tables


def _mapping(title: str, value: Mapping[str, Any]) -> list[DataTable]:
    if all(isinstance(part, Mapping) for part in value.values()):
        rows = [{"": _title(name), **part} for name, part in value.items()]
        return [_table(title, rows, folded=False)]
    plain = {key: part for key, part in value.items() if not isinstance(part, (Mapping, list))}
    tables = [_facts(title, plain)] if plain else []
    for key, part in value.items():
        if isinstance(part, Mapping) and part:
            tables += _mapping(f"{title}: {_title(key)}", part)
        elif isinstance(part, list):
            tables.append(_list(f"{title}: {_title(key)}", part))
    return tables


def _facts(title: str, values: Mapping[str, Any]) -> DataTable:
    rows = tuple((_title(key), _cell(key, value)) for key, value in values.items())
    return DataTable(title, len(rows), ("", ""), rows)


def _list(title: str, values: Sequence[Any]) -> DataTable:
    if not values:
        return DataTable(title, 0)
    if all(isinstance(value, Mapping) for value in values):
        return _table(title, values, folded=len(values) > _FOLDED_FROM)
    rows = tuple((_cell("", value),) for value in values[:_MOST_ROWS])
    return DataTable(title, len(values), ("",), rows, max(0, len(values) - _MOST_ROWS), folded=True)


def _table(title: str, values: Sequence[Mapping[str, Any]], *, folded: bool) -> DataTable:
    keys = list(dict.fromkeys(key for value in values for key in value))
    rows = tuple(tuple(_cell(key, value.get(key)) for key in keys) for value in values[:_MOST_ROWS])
    more = max(0, len(values) - _MOST_ROWS)
    return DataTable(title, len(values), tuple(_title(key) for key in keys), rows, more, folded)


def _cell(key: str, value: Any) -> str:
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return size(value) if key.endswith(_BYTES) else number(value, 0)
    if isinstance(value, float):
        return percent(value, 1) if key.endswith(("share", "fraction")) else number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{_title(str(k))} {_cell(str(k), part)}" for k, part in value.items()) or NONE
    if isinstance(value, list):
        return ", ".join(_cell(key, part) for part in value[:_MOST_ROWS]) or NONE
    return str(value)


def _title(key: str) -> str:
    return key.replace("_", " ")
