"""A comparison of schedules: the fits' serial steps, guard events and scores."""

import math
from collections.abc import Iterator, Mapping, Sequence

from bnnbench.engine.records.record import Record
from bnnbench.metrics import METRICS
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.judge.columns import (
    cost_column,
    diagnostic_column,
    filled,
    score_column,
    score_under,
)
from bnnbench.reports.judge.comparisons import score_points
from bnnbench.reports.judge.table import Table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.base import Block, Choice, Material, Section, figures
from bnnbench.reports.sections.condition_tables import ordered, table_of
from bnnbench.reports.sections.suites import steps_figure as figure
from bnnbench.reports.style import labels
from bnnbench.reports.style.palette import Style

STEPS, GUARDS = "serial_steps", "guard_events"
"""Names of the diagnostics."""
SCORES = frozenset({"accuracy", "nll", "ece", "rmse"})
DRAWN = ("nll", "accuracy", "rmse")


def compares_steps(benchmark: Benchmark) -> bool:
    """Return whether most methods count serial steps, and differ in them.

    If only a few count steps, the methods are not compared by steps.
    """
    steps_by_method = [
        {r.outcome.diagnostics[STEPS] for r in runs if _counts_steps(r)}
        for runs in benchmark.runs.values()
    ]
    counted = [frozenset(steps) for steps in steps_by_method if steps]
    return 2 * len(counted) > len(steps_by_method) and len(set(counted)) > 1


def sections(material: Material) -> Iterator[Section]:
    """Yield a section on the data sets on which schedules are compared."""
    drawings = [
        drawing
        for benchmark, name, where in material.figure_places("steps")
        for drawing in step_drawings(benchmark, material.styles, name, where)
    ]
    about = (
        "Each point is a run. The further left it lies, the more of the fit runs in parallel. A "
        "line is the mean of a method that counts no steps."
    )
    note = (
        "Serial steps are updates that cannot run in parallel; the examples of one step are "
        "processed at once. A guard event is a part of the fit that went wrong and was repeated "
        "with a more cautious schedule. Seconds also depend on the other load of the machine."
    )
    tables = step_tables(material.benchmarks, material.methods)
    if tables:
        choices = (Choice(tuple(Block(table, table.title) for table in tables)),)
        galleries = figures("Serial steps", about, drawings)
        yield Section("Serial steps", note, choices=choices, galleries=galleries)


def step_tables(benchmarks: Sequence[Benchmark], methods: Sequence[str]) -> list[Table]:
    """Return a table for each data set on which schedules are compared."""
    return [_table(b, [m for m in methods if m in b.runs]) for b in benchmarks if compares_steps(b)]


def _table(benchmark: Benchmark, methods: Sequence[str]) -> Table:
    main = benchmark.main
    names = {n for r in benchmark.records for n in r.outcome.scores.get(main, {}) if n in SCORES}
    scores = [
        filled(
            score_column(benchmark, name, main),
            benchmark,
            methods,
            score_under(main, name),
            score_points(benchmark, main, name),
        )
        for name in ordered(names)
    ]
    has_guards = any(GUARDS in r.outcome.diagnostics for r in benchmark.records)
    diagnostics = [
        diagnostic_column(benchmark, name, methods)
        for name in (STEPS, *([GUARDS] if has_guards else []))
    ]
    pairs = [*diagnostics, *scores, cost_column(benchmark, "fit_seconds", methods)]
    title = f"{benchmark.title}, serial steps"
    return table_of(title, pairs, benchmark, methods, benchmark.origin_of(main))


def step_drawings(
    benchmark: Benchmark, styles: Mapping[str, Style], identifier: str, where: str
) -> list[Drawing]:
    """Return a figure for each score that is drawn; empty if no schedules are compared."""
    if not compares_steps(benchmark):
        return []
    drawings = []
    for name in DRAWN:
        points: dict[str, list[tuple[float, float]]] = {}
        levels: dict[str, list[float]] = {}
        for method, runs in benchmark.runs.items():
            for record in runs:
                score = record.outcome.scores.get(benchmark.main, {}).get(name, math.nan)
                if record.outcome.status != "completed" or not math.isfinite(score):
                    continue
                if _counts_steps(record):
                    points.setdefault(method, []).append((record.outcome.diagnostics[STEPS], score))
                else:
                    levels.setdefault(method, []).append(score)
        if points:
            prefix, axis = f"{identifier}-{name}", labels.metric(name)
            higher = bool(METRICS[name].higher_is_better)
            drawings.append(figure.draw(points, levels, styles, prefix, where, axis, higher))
    return drawings


def _counts_steps(record: Record) -> bool:
    return record.outcome.status == "completed" and record.outcome.diagnostics.get(STEPS, 0) > 0
