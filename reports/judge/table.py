"""A table of a report: methods by columns, with units, uncertainties and marks."""

import math
from dataclasses import dataclass
from typing import Literal

from bnnbench.metrics.base import Margin
from bnnbench.reports.judge.decision import NOT_COMPARED, Decision, Standing

Kind = Literal["score", "cost", "diagnostic"]


@dataclass(frozen=True)
class Column:
    """A metric on a data set, or a cost of the runs."""

    name: str
    heading: str
    unit: str
    higher_is_better: bool | None
    decimals: int = 3
    scale: float = 1.0
    """The factor applied to a value when it is printed."""
    digits: int | None = None
    """Significant digits, instead of decimals, if values span many orders of magnitude."""
    kind: Kind = "score"
    decision: Decision | None = None
    """The comparison of the methods; None if the column has no better direction."""
    margin: Margin | None = None
    """The declared margin of practical equality."""
    by_fold: bool = False
    """True if the cells are means over folds, else over seeds."""
    overlap: float | None = 0.0
    """Factor by which shared rows widen intervals over folds (`overlap_of`); None if unknown."""
    benchmark: tuple[str, ...] = ()
    """The identity of the benchmark whose runs the cells summarise; () if unknown."""
    condition: str = ""
    """The condition whose scores are averaged; "" if not a single one."""


@dataclass(frozen=True)
class Cell:
    """A method's value: the mean over `runs` runs, with its uncertainty and its state."""

    mean: float
    standard_error: float | None
    runs: int
    half_width: float | None = None
    """Half of a 95 % interval of the mean."""
    replicates: int = 0
    """The number of folds (or, with only one fold, of seeds) behind the interval."""
    standing: Standing = NOT_COMPARED
    unconverged: int = 0
    """The number of runs whose fit did not converge, by their own diagnostics."""


Entry = Cell | str
"""A value, or the reason for its absence: "no run", "diverged", "failed" or "not scored"."""


@dataclass(frozen=True)
class Row:
    """A method: an entry per column, and counts of its runs."""

    method: str
    cells: tuple[Entry, ...]
    runs: int
    completed: int
    asked: int = 0
    """The number of folds and seeds of any method; 0 if unknown."""
    label: str = ""
    """The method whose runs the cells summarise, if `method` is more than its name."""

    @property
    def owner(self) -> str:
        """The method whose runs the cells summarise."""
        return self.label or self.method

    @property
    def success(self) -> float:
        """The share of requested runs that were completed; NaN if none was requested."""
        return self.completed / max(self.asked, self.runs) if self.runs else math.nan


@dataclass(frozen=True)
class Table:
    """Methods by columns."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    origin: str = "original"
    own_networks: tuple[str, ...] = ()
    """Methods with a custom network, each with a description of its network."""
    yardsticks: tuple[str, ...] = ()
    """Methods that are not networks, or were trained on other tables; a line for each kind."""
    unsteady: tuple[str, ...] = ()
    """Methods whose predictions of a row depend on the other rows, or on the call; a line for
    each."""
    rows_counted_twice: tuple[str, ...] = ()
    """Methods whose prior is computed from the rows that they are fitted to."""
    elsewhere: tuple[str, ...] = ()
    """External methods, each with its submitter, the date, and the stated code and cost."""
    unanswered: tuple[str, ...] = ()
    """The reasons why a completed method is "not scored" by a metric, a line for each."""
    in_process: tuple[str, ...] = ()
    """Methods with runs in a process that third-party methods could change."""
    shortened: tuple[str, ...] = ()
    """A sentence for each benchmark from which parts were cut to keep a time limit."""

    @property
    def benchmark(self) -> tuple[str, ...]:
        """The identity of the columns' benchmark; () if there are several or none."""
        identities = {column.benchmark for column in self.columns}
        return identities.pop() if len(identities) == 1 else ()

    @property
    def unconverged(self) -> list[str]:
        """The means that include unconverged runs: a line for each such method."""
        lines = []
        for row in self.rows:
            marked = {
                column.heading: f"{cell.unconverged} of {cell.runs}"
                for column, cell in zip(self.columns, row.cells, strict=True)
                if isinstance(cell, Cell) and cell.unconverged
            }
            counts = list(dict.fromkeys(marked.values()))
            if len(counts) == 1 and len(marked) == sum(c.kind == "score" for c in self.columns):
                lines.append(f"{row.method} {counts[0]}")
            elif marked:
                places = ", ".join(f"{heading} {count}" for heading, count in marked.items())
                lines.append(f"{row.method} ({places})")
        return lines

    @property
    def decisions(self) -> list[Column]:
        """The columns whose methods were compared."""
        return [column for column in self.columns if column.decision]
