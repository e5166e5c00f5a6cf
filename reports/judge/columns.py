"""Mean and standard error of every method in one column, and which of them are best."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from bnnbench.metrics import LISTED
from bnnbench.metrics.statistics import Samples, mean, replicates, summary
from bnnbench.reports.judge.paired import Verdict, compare, holdout_ratio
from bnnbench.reports.judge.table import Cell, Column, Entry, Mark
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import cost_decimals, decimals
from bnnbench.suites.engine.store.record import Record

Values = Callable[[Record], float | None]

COSTS: Mapping[str, tuple[str, float]] = {
    "fit_seconds": ("s", 1.0),
    "compile_seconds": ("s", 1.0),
    "predict_seconds": ("s", 1.0),
    "peak_bytes": ("MiB", 2.0**-20),
    "fit_joules": ("kJ", 1e-3),
}
"""Cost → the unit it is printed in and the factor to that unit."""


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
    unit, scale = COSTS[name]
    column = Column(name, labels.metric(name), unit, None, scale=scale, kind="cost")
    return filled(column, benchmark, methods, lambda r: r.cost and getattr(r.cost, name))


def diagnostic_column(
    benchmark: Benchmark, name: str, methods: Sequence[str]
) -> tuple[Column, list[Entry]]:
    """Return a diagnostic of the fits as a column, and an entry for each method."""
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
    """Return the number of runs behind a score whose diagnostics say they did not converge."""
    runs = benchmark.runs.get(method, ()) if column.kind == "score" else ()
    return sum(r.status == "completed" and r.diagnostics.get("converged") == 0 for r in runs)


def _samples(runs: Sequence[Record], value: Values) -> Samples:
    values = {(r.fold, r.seed): value(r) for r in runs if r.status == "completed"}
    return {pair: float(v) for pair, v in values.items() if v is not None}


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


def _target_unit(benchmark: Benchmark) -> str:
    targets = [r.target for r in benchmark.records if r.target]
    return str(targets[0].get("unit", "")) if targets else ""
