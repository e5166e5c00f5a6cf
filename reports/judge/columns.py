"""The mean and interval of every method in one column, and the decision on the best methods."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from bnnbench.engine.records.record import Record
from bnnbench.metrics import LISTED
from bnnbench.metrics.statistics import Samples, mean, replicates
from bnnbench.reports.judge.comparisons import decision_on
from bnnbench.reports.judge.contest import Points
from bnnbench.reports.judge.decision import NOT_COMPARED, Standing
from bnnbench.reports.judge.statistics.intervals import standard_error, t_interval
from bnnbench.reports.judge.table import Cell, Column, Entry
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.devices import by_frequency, devices
from bnnbench.reports.read.exclusions import unconverged
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import cost_decimals, decimals

Values = Callable[[Record], float | None]

COSTS: Mapping[str, tuple[str, float]] = {
    "fit_seconds": ("s", 1.0),
    "fit_cpu_seconds": ("s", 1.0),
    "compile_seconds": ("s", 1.0),
    "predict_seconds": ("s", 1.0),
    "peak_bytes": ("MiB", 2.0**-20),
    "fit_joules": ("kJ", 1e-3),
}
"""Cost → its printed unit and the factor to that unit."""


def score_under(condition: str, name: str) -> Values:
    """Return the function that gives a run's score under a condition."""
    return lambda record: record.outcome.scores.get(condition, {}).get(name)


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
    """Return a column with a cost of the runs, and an entry for each method.

    Seconds are those of the device on which most fits were timed.
    """
    return next(cost_columns(benchmark, name, methods))


def cost_columns(
    benchmark: Benchmark, name: str, methods: Sequence[str]
) -> Iterator[tuple[Column, list[Entry]]]:
    """Yield columns with a cost of the runs, each with an entry for each method.

    Seconds on different processors or GPUs are in columns of their own, the most frequent first.
    """
    unit, scale = COSTS[name]
    column = Column(name, labels.metric(name), unit, None, scale=scale, kind="cost")
    device = devices(benchmark.records) if unit == "s" else {}
    first, *others = by_frequency(benchmark.records) if device else [""]

    def on(chosen: str) -> Values:
        return lambda r: r.cost.value(name) if r.cost and device.get(r.key, "") == chosen else None

    yield filled(column, benchmark, methods, on(first))
    for other in others:
        heading = f"{column.heading} ({other})"
        apart = replace(column, name=f"{name} on {other}", heading=heading)
        yield filled(apart, benchmark, methods, on(other))


def work_column(unit: str) -> Column:
    """Return the empty column for a unit of work."""
    return Column(unit, labels.metric(unit), "", None, kind="cost")


def diagnostic_column(
    benchmark: Benchmark, name: str, methods: Sequence[str]
) -> tuple[Column, list[Entry]]:
    """Return a column with a diagnostic of the fits, and an entry for each method."""
    column = Column(name, name.replace("_", " "), "", None, kind="diagnostic")
    return filled(column, benchmark, methods, lambda r: r.outcome.diagnostics.get(name))


def filled(
    column: Column,
    benchmark: Benchmark,
    methods: Sequence[str],
    value: Values,
    points: Points | None = None,
) -> tuple[Column, list[Entry]]:
    """Return the column with its decimals, and an entry for each method.

    `points` returns a run's scores at each test point, if there are any.
    """
    samples = {method: samples_of(benchmark.runs.get(method, ()), value) for method in methods}
    margin = benchmark.margin(column.name) if column.kind == "score" else None
    better = column.higher_is_better
    decision = decision_on(benchmark, column.name, better, samples, points)
    standings = decision.standings if decision else {}
    cells = [
        cell_of(
            replicates(samples[method], benchmark.by_fold),
            len(samples[method]),
            benchmark.overlap,
            standings.get(method, NOT_COMPARED),
            unconverged(benchmark.runs[method]) if column.kind == "score" else 0,
        )
        if samples[method]
        else _absence(benchmark.runs.get(method, ()), column)
        for method in methods
    ]
    column = replace(column, decision=decision, margin=margin, by_fold=benchmark.by_fold)
    column = replace(column, overlap=benchmark.overlap, benchmark=benchmark.identity)
    return with_decimals(column, cells), cells


def cell_of(
    values: Sequence[float],
    runs: int = 0,
    overlap: float | None = 0.0,
    standing: Standing = NOT_COMPARED,
    unconverged: int = 0,
) -> Cell:
    """Return the cell of a mean over folds, or over seeds, with its interval.

    `runs` counts all runs behind the mean; 0 stands for the number of values. The interval is
    omitted if the overlap of training sets is unknown.
    """
    interval = None if overlap is None else t_interval(values, overlap)
    return Cell(
        mean(values),
        standard_error(values),
        runs or len(values),
        interval and interval.half_width,
        len(values),
        standing,
        unconverged,
    )


def with_decimals(column: Column, cells: Sequence[Entry]) -> Column:
    """Return the column with as many decimals as its cells need."""
    values = [cell for cell in cells if isinstance(cell, Cell)]
    means = [cell.mean * column.scale for cell in values]
    errors = [cell.half_width * column.scale for cell in values if cell.half_width]
    places = cost_decimals(means) if column.kind == "cost" else decimals(means, errors)
    return replace(column, decimals=places)


def samples_of(runs: Sequence[Record], value: Values) -> Samples:
    """Return the values of completed runs."""
    values = {(r.fold, r.seed): value(r) for r in runs if r.outcome.status == "completed"}
    return {pair: float(v) for pair, v in values.items() if v is not None}


def _absence(runs: Sequence[Record], column: Column) -> str:
    if any(r.outcome.status == "completed" for r in runs):
        return "unknown" if column.kind == "cost" else "not scored"
    return (
        "failed"
        if any(r.outcome.status == "failed" for r in runs)
        else "diverged"
        if runs
        else "no run"
    )


def _target_unit(benchmark: Benchmark) -> str:
    targets = [r.circumstances.target for r in benchmark.records if r.circumstances.target]
    return str(targets[0].get("unit", "")) if targets else ""
