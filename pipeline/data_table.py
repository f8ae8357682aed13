"""DataTable: rows for people, none of whose ids and figures is ever cut."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pipeline.terminal import styled, visible

PROSE_WIDTH = 24
"""Least width of a column whose text may be folded."""


class DataTable:
    """A table where it fits, if need be with fewer columns; else each row is a block, one cell a line.

    Args:
        columns: their names; the first one names the row.
        right: names of columns of figures.
        prose: names of columns that may be folded: sentences and paths. All others stay on one line.
        spare: names of columns that are left out before the table becomes blocks.
        title: above the table; "" for none.
        header: whether the columns' names are shown.
        frame: rich's box around it.
    """

    def __init__(
        self,
        columns: Sequence[str],
        *,
        right: Collection[str] = (),
        prose: Collection[str] = (),
        spare: Collection[str] = (),
        title: str = "",
        header: bool = True,
        frame: box.Box = box.SIMPLE,
    ) -> None:
        self._columns = tuple(columns)
        self._right = right
        self._prose = prose
        self._spare = spare
        self._title = title
        self._header = header
        self._frame = frame
        self._rows: list[tuple[Text, ...]] = []

    def add(self, *cells: str | Text) -> None:
        """Add a row; strings are shown as they are, line ends in them start a line of the cell."""
        self._rows.append(
            tuple(cell if isinstance(cell, Text) else Text(visible(cell, keep="\n")) for cell in cells)
        )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol: the form that fits the width there is."""
        everything = range(len(self._columns))
        for places in (everything, [i for i in everything if self._columns[i] not in self._spare]):
            table = self._table(places)
            least = table.__rich_measure__(console, options.update(max_width=1 << 16)).minimum
            if least <= options.max_width:
                yield table
                return
        yield from self._blocks()

    def _table(self, places: Sequence[int]) -> Table:
        title = styled((self._title, "bold")) if self._title else None
        table = Table(
            title=title,
            box=self._frame,
            show_header=self._header,
            title_justify="left",
            collapse_padding=self._frame is box.SIMPLE,
        )
        for place in places:
            name = self._columns[place]
            prose = name in self._prose
            table.add_column(
                styled(name),
                justify="right" if name in self._right else "left",
                no_wrap=not prose,
                overflow="fold",
                min_width=min(self._longest(place), PROSE_WIDTH) if prose else self._longest(place),
            )
        for row in self._rows:
            table.add_row(*(row[place] for place in places))
        return table

    def _longest(self, place: int) -> int:
        cells = [row[place] for row in self._rows]
        texts = [*cells, styled(self._columns[place])] if self._header else cells
        return max((line.cell_len for text in texts for line in text.split("\n")), default=0)

    def _blocks(self) -> RenderResult:
        if self._title:
            yield styled((self._title, "bold"))
        for row in self._rows:
            yield Text.assemble((row[0] if row[0].plain else styled("–")), style="bold", overflow="fold")
            grid = Table.grid(padding=(0, 2))
            for _ in range(2 if self._header else 1):
                grid.add_column(overflow="fold")
            for name, cell in zip(self._columns[1:], row[1:], strict=True):
                if cell.plain:
                    grid.add_row(*([styled(name), cell] if self._header else [cell]))
            yield Padding(grid, (0, 0, 0, 2))
