from __future__ import annotations

import io

import pytest

from pipeline.data_table import DataTable
from pipeline.terminal import PlainConsole

ROW = ("20260301-120000-abcd", "pushed", "26581.123", "1795974558", "a sentence of several words, folded")


def _printed(width: int, **options: bool) -> str:
    table = DataTable(
        ("run", "state", "before", "version", "why"),
        right=("before",),
        prose=("why",),
        title="Runs",
        **options,
    )
    table.add(*ROW)
    console = PlainConsole(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [200, 100, 80, 60, 40])
@pytest.mark.parametrize("header", [True, False])
def test_no_id_and_no_figure_is_cut_at_any_width(width: int, header: bool):
    text = _printed(width, header=header)
    for cell in ROW[:-1]:
        assert cell in text
    assert all(word in text for word in ROW[-1].split())
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width


def test_spare_columns_go_before_the_table_becomes_blocks():
    table = DataTable(("run", "pipeline"), spare=("pipeline",))
    table.add("20260301-120000-abcd", "demo")
    console = PlainConsole(file=io.StringIO(), width=26)
    console.print(table)
    assert "demo" not in console.file.getvalue()
    assert "run" in console.file.getvalue()


def test_rows_become_blocks_where_the_table_does_not_fit():
    assert len(_printed(100).strip().splitlines()) < len(_printed(60).strip().splitlines())
    lines = [line.split() for line in _printed(60).splitlines()]
    assert [ROW[0]] in lines
    assert ["before", "26581.123"] in lines
