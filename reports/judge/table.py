"""A table of a report: methods by columns, each with its unit and what may be said of it."""

import math
from dataclasses import dataclass
from typing import Literal

Mark = Literal["", "best", "close"]
Kind = Literal["score", "cost", "diagnostic"]


@dataclass(frozen=True)
class Column:
    """A metric on a data set, or what a run cost."""

    name: str
    heading: str
    unit: str
    higher_is_better: bool | None
    decimals: int = 3
    scale: float = 1.0
    """What a value is multiplied by when it is printed."""
    digits: int | None = None
    """Significant digits, in place of decimals, where values are of many orders of magnitude."""
    kind: Kind = "score"
    untested: str = ""
    """Why methods were not compared, or "" """
    benchmark: tuple[str, ...] = ()
    """The identity of the benchmark whose runs are behind the cells, () where unknown."""
    condition: str = ""
    """The condition whose scores are averaged, "" where it is not one."""


@dataclass(frozen=True)
class Cell:
    """A method's value: the mean over `runs` runs, and what may be said of it."""

    mean: float
    standard_error: float | None
    runs: int
    mark: Mark = ""
    p_value: float | None = None
    """Of the difference from the best, after Holm's correction."""
    unconverged: int = 0
    """How many of the runs say that their fit did not converge."""


Entry = Cell | str
"""A value, or why there is none: "no run", "diverged", "failed" or "not scored"."""


@dataclass(frozen=True)
class Row:
    """A method: an entry per column, and how its runs ended."""

    method: str
    cells: tuple[Entry, ...]
    runs: int
    completed: int
    asked: int = 0
    """Runs that any method was given; 0 where unknown."""
    label: str = ""
    """The method whose runs are behind the cells, where `method` says more than its name."""

    @property
    def owner(self) -> str:
        """The method whose runs are behind the cells."""
        return self.label or self.method

    @property
    def success(self) -> float:
        """The share of runs asked for that were completed; NaN where there was none."""
        return self.completed / max(self.asked, self.runs) if self.runs else math.nan


@dataclass(frozen=True)
class Table:
    """Methods by columns."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    origin: str = "original"
    own_networks: tuple[str, ...] = ()
    """Methods that have not the network of the other rows, each with its network in words."""
    unanswered: tuple[str, ...] = ()
    """Why a completed method is "not scored" by a metric: a line for each reason."""

    @property
    def benchmark(self) -> tuple[str, ...]:
        """The benchmark that all columns are about, () where there are several or none."""
        found = {column.benchmark for column in self.columns}
        return found.pop() if len(found) == 1 else ()

    @property
    def unconverged(self) -> list[str]:
        """Which means hold runs that did not converge: a line for each method concerned."""
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
    def untested(self) -> dict[str, list[str]]:
        """Reason → headings of the columns whose methods were not tested."""
        reasons: dict[str, list[str]] = {}
        for column in self.columns:
            if column.untested:
                reasons.setdefault(column.untested, []).append(column.heading)
        return reasons
