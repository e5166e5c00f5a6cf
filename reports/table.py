"""Mean and standard error of every method and metric, and which of them are best."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from metrics import LISTED
from metrics.statistics import Samples, mean, replicates, summary
from reports import labels
from reports.benchmarks import Benchmark
from reports.numbers import cost_decimals, decimals
from reports.paired import Verdict, compare
from suites.engine.record import Record

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


Values = Callable[[Record], float | None]


def condition_table(
    benchmark: Benchmark, condition: str, methods: Sequence[str], minor: bool = False
) -> Table:
    """Return methods by metrics under one test condition; the clean one also shows costs.

    `minor` gives the table of the metrics that this one leaves out.
    """
    scored = {n for r in benchmark.records for n in r.scores.get(condition, {})}
    names = [name for name in ordered(scored) if labels.is_minor(name, scored) is minor]
    pairs = [
        filled(
            score_column(benchmark, name, condition),
            benchmark,
            methods,
            score_under(condition, name),
        )
        for name in names
    ]
    if condition == benchmark.conditions[0] and not minor:
        costs = [r.cost for r in benchmark.records if r.cost]
        known = [name for name in _COSTS if any(getattr(c, name) is not None for c in costs)]
        pairs += [cost_column(benchmark, name, methods) for name in known]
    title = f"{labels.dataset(benchmark.title)}, {labels.condition(condition)}"
    return table_of(title, pairs, benchmark, methods, benchmark.origin_of(condition))


def diagnostics_table(benchmark: Benchmark, methods: Sequence[str]) -> Table:
    """Return methods by what their fits say about themselves."""
    names = sorted({name for r in benchmark.records for name in r.diagnostics})
    pairs = [diagnostic_column(benchmark, name, methods) for name in names]
    return table_of(labels.dataset(benchmark.title), pairs, benchmark, methods, benchmark.origin)


def overview(
    name: str, benchmarks: Sequence[Benchmark], tables: Sequence[Table], methods: Sequence[str]
) -> Table:
    """Return methods by data sets for one metric, out of the tables of the data sets."""
    picked = []
    for benchmark, table in zip(benchmarks, tables, strict=True):
        at = [i for i, column in enumerate(table.columns) if column.name == name]
        if at:
            picked.append((benchmark, table, at[0]))
    first = picked[0][1].columns[picked[0][2]]
    columns = []
    for benchmark, table, i in picked:
        columns.append(replace(table.columns[i], heading=labels.dataset(benchmark.title)))
    rows = []
    for k, method in enumerate(methods):
        mine = [(table.rows[k], table.rows[k].cells[i]) for _, table, i in picked]
        runs, completed, asked = (
            sum(getattr(row, name) for row, _ in mine) for name in ("runs", "completed", "asked")
        )
        rows.append(Row(method, tuple(cell for _, cell in mine), runs, completed, asked))
    origins = {table.origin for _, table, _ in picked}
    origin = origins.pop() if len(origins) == 1 else "mixed"
    rounds = {benchmark.main for benchmark, _, _ in picked if benchmark.rounds}
    after = f", {labels.condition(min(rounds))}" if rounds and first.kind == "score" else ""
    return Table(first.heading + after, tuple(columns), tuple(rows), origin)


def ordered(names: set[str]) -> list[str]:
    """Return metric names in the order of `LISTED`; unknown ones last."""
    known = [name for name in LISTED if name in names]
    return known + sorted(names - set(known))


_COSTS: Mapping[str, tuple[str, float]] = {
    "fit_seconds": ("s", 1.0),
    "predict_seconds": ("s", 1.0),
    "peak_bytes": ("MiB", 2.0**-20),
    "fit_joules": ("kJ", 1e-3),
}
"""what is printed → unit and the factor to it"""


def score_under(condition: str, name: str) -> Values:
    """Return the function that gives a run's score under a condition."""
    return lambda record: record.scores.get(condition, {}).get(name)


def score_column(benchmark: Benchmark, name: str, condition: str = "") -> Column:
    """Return the empty column of a metric."""
    metric = LISTED.get(name)
    percent = name in labels.PERCENT
    unit = "%" if percent else metric.unit if metric else ""
    if unit == "target_units":
        unit = _target_unit(benchmark) or unit
    return Column(
        name,
        labels.metric(name),
        labels.UNITS.get(unit, unit.replace("_", " ")),
        metric.higher_is_better if metric else None,
        scale=100.0 if percent else 1.0,
        condition=condition,
    )


def cost_column(
    benchmark: Benchmark, name: str, methods: Sequence[str]
) -> tuple[Column, list[Entry]]:
    """Return a cost of the runs as a column, and an entry for each method."""
    unit, scale = _COSTS[name]
    column = Column(name, labels.metric(name), unit, None, scale=scale, kind="cost")
    return filled(column, benchmark, methods, lambda r: r.cost and getattr(r.cost, name))


def diagnostic_column(
    benchmark: Benchmark, name: str, methods: Sequence[str]
) -> tuple[Column, list[Entry]]:
    """Return what fits say about themselves as a column, and an entry for each method."""
    column = Column(name, name.replace("_", " "), "", None, kind="diagnostic")
    return filled(column, benchmark, methods, lambda r: r.diagnostics.get(name))


def filled(
    column: Column, benchmark: Benchmark, methods: Sequence[str], value: Values
) -> tuple[Column, list[Entry]]:
    """Return the column with its decimals, and an entry for each method."""
    by_fold = len({r.fold for r in benchmark.records}) > 1
    samples = {method: _samples(benchmark.runs.get(method, ()), value) for method in methods}
    better = column.higher_is_better
    verdict = compare(samples, better, by_fold, holdout_ratio(benchmark.records))
    cells = [
        _cell(method, samples[method], by_fold, verdict, _unconverged(column, benchmark, method))
        if samples[method]
        else _absence(benchmark.runs.get(method, ()))
        for method in methods
    ]
    done = with_decimals(column, cells)
    return replace(done, untested=verdict.untested, benchmark=benchmark.identity), cells


def with_decimals(column: Column, cells: Sequence[Entry]) -> Column:
    """Return the column with as many decimals as its cells need."""
    values = [cell for cell in cells if isinstance(cell, Cell)]
    means = [cell.mean * column.scale for cell in values]
    errors = [cell.standard_error * column.scale for cell in values if cell.standard_error]
    places = cost_decimals(means) if column.kind == "cost" else decimals(means, errors)
    return replace(column, decimals=places)


def _unconverged(column: Column, benchmark: Benchmark, method: str) -> int:
    """Return how many of the runs behind a score say that they did not converge."""
    runs = benchmark.runs.get(method, ()) if column.kind == "score" else ()
    return sum(r.status == "completed" and r.diagnostics.get("converged") == 0 for r in runs)


def _samples(runs: Sequence[Record], value: Values) -> Samples:
    found = {(r.fold, r.seed): value(r) for r in runs if r.status == "completed"}
    return {pair: float(v) for pair, v in found.items() if v is not None}


def _absence(runs: Sequence[Record]) -> str:
    if any(r.status == "completed" for r in runs):
        return "not scored"
    return "failed" if any(r.status == "failed" for r in runs) else "diverged" if runs else "no run"


def _cell(method: str, samples: Samples, by_fold: bool, verdict: Verdict, unconverged: int) -> Cell:
    mark: Mark = "best" if method in verdict.best else "close" if method in verdict.close else ""
    values = replicates(samples, by_fold)
    error = standard_error(values)
    p_value = verdict.adjusted.get(method)
    return Cell(mean(values), error, len(samples), mark, p_value, unconverged)


def standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of the mean; None for a single value or an infinite one."""
    if len(values) < 2 or not np.isfinite(values).all():
        return None
    return summary(np.array(values)).standard_error


def holdout_ratio(records: Sequence[Record]) -> float | None:
    """Return the mean of test rows over train rows, None where the facts lack them.

    It stands for the overlap of training sets. Generated ones are drawn anew for every fold,
    and repeats of active learning take few rows out of a pool: 0.
    """
    if records and all("pool_rows" in r.facts or r.origin == "generated" for r in records):
        return 0.0
    rows = [(r.facts.get("test_rows"), r.facts.get("train_rows")) for r in records]
    ratios = [
        test / train
        for test, train in rows
        if isinstance(test, int) and isinstance(train, int) and train > 0
    ]
    return mean(ratios) if ratios else None


def table_of(
    title: str,
    pairs: Sequence[tuple[Column, Sequence[Entry]]],
    benchmark: Benchmark,
    methods: Sequence[str],
    origin: str,
) -> Table:
    """Return methods by columns, each with its entries; those of costs come last."""
    rows, asked = [], len({(r.fold, r.seed) for r in benchmark.records})
    for k, method in enumerate(methods):
        runs = benchmark.runs.get(method, ())
        completed = sum(r.status == "completed" for r in runs)
        rows.append(Row(method, tuple(cells[k] for _, cells in pairs), len(runs), completed, asked))
    return Table(title, tuple(column for column, _ in pairs), tuple(rows), origin)


def _target_unit(benchmark: Benchmark) -> str:
    targets = [r.target for r in benchmark.records if r.target]
    return str(targets[0].get("unit", "")) if targets else ""
