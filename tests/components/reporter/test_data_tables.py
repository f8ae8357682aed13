from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from components.reporter.data_tables import DataTable, data_tables

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


def _by_title(report: dict[str, Any]) -> dict[str, DataTable]:
    return {table.title: table for table in data_tables(report)}


def test_figures_mappings_and_lists_each_have_their_table():
    tables = _by_title(
        {
            "splits": {"train": {"documents": 1200, "bytes": 4_000_000}, "eval": {"documents": 9}},
            "dead_letters": 3,
            "bad_rows": {"not JSON": 2},
            "duplicates": [f"a{i} = b" for i in range(30)],
            "leaks": [],
            "near_duplicates": {
                "threshold": 0.9,
                "dropped_share": 0.125,
                "clusters": [{"kept": "a", "size": 3}],
            },
        }
    )
    assert tables["counts"].rows == (("dead letters", "3"),)
    assert tables["splits"].header == ("", "documents", "bytes")
    assert tables["splits"].rows == (("train", "1,200", "4.0 MB"), ("eval", "9", "–"))
    assert tables["duplicates"].folded
    assert (tables["duplicates"].count, len(tables["duplicates"].rows), tables["duplicates"].more) == (
        30,
        20,
        10,
    )
    assert tables["leaks"].rows == ()
    assert ("dropped share", "12.5%") in tables["near duplicates"].rows
    assert tables["near duplicates: clusters"].rows == (("a", "3"),)


@given(st.dictionaries(st.text(max_size=6), values, max_size=5))
def test_any_report_has_tables_of_equal_width(report: dict[str, Any]):
    for table in data_tables(report):
        assert all(len(row) == len(table.header) for row in table.rows)
        assert all(isinstance(cell, str) for row in table.rows for cell in row)
