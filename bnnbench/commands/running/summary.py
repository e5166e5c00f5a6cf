"""The tables at the end of a command."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.declare.grid import Suite
from bnnbench.engine.records.record import Record
from bnnbench.reports.judge.table import Table
from bnnbench.reports.pages.exports.tables import heading, notes, plain, runs_of
from bnnbench.reports.sections.terminal import terminal_tables


@dataclass(frozen=True)
class _Column:
    """A column of one table: its heading and a text for each method."""

    heading: str
    cells: tuple[str, ...]

    @property
    def width(self) -> int:
        return max(cell_len(text) for text in (self.heading, *self.cells)) + 2


def print_tables(suite: Suite, records: Iterable[Record], console: Console) -> None:
    """Print the report's tables of a few metrics, then what their intervals and marks mean.

    A table too wide for the console continues in a second one below.
    """
    for tables in terminal_tables(suite, records):
        for table in tables:
            _print_table(table, console)
        lines = dict.fromkeys(note for table in tables for note in notes(table))
        for line in lines:
            console.print(Text(legible(line)))
        if lines:
            console.print()


def _print_table(table: Table, console: Console) -> None:
    label, *remaining = map(_legible, _columns(table))
    while remaining:
        shown, width = [label], label.width + 2
        while remaining and (len(shown) == 1 or width + remaining[0].width <= console.width):
            width += remaining[0].width
            shown.append(remaining.pop(0))
        console.print(Text(legible(table.title), "bold"), soft_wrap=True)
        console.print(_laid_out(shown))
        console.print()


def _columns(table: Table) -> list[_Column]:
    columns = [_Column("method", tuple(row.method for row in table.rows))]
    for k, column in enumerate(table.columns):
        cells = [plain(row.cells[k], column) for row in table.rows]
        columns.append(_Column(heading(column), tuple(_aligned(cells))))
    return [*columns, _Column("runs", tuple(map(runs_of, table.rows)))]


def _aligned(cells: Sequence[str]) -> list[str]:
    """Return the cells, with a space for the dagger that others have."""
    marked = any(cell.endswith("†") for cell in cells)
    return [cell if not marked or cell.endswith("†") else f"{cell} " for cell in cells]


def _legible(column: _Column) -> _Column:
    return _Column(legible(column.heading), tuple(map(legible, column.cells)))


def _laid_out(columns: Sequence[_Column]) -> RichTable:
    label, *others = columns
    laid_out = RichTable(box=None, pad_edge=False)
    laid_out.add_column(Text(label.heading), no_wrap=True)
    for column in others:
        laid_out.add_column(Text(column.heading), justify="right", no_wrap=True)
    for row in zip(*(column.cells for column in columns), strict=True):
        laid_out.add_row(*map(Text, row))
    return laid_out
