"""A comparison of schedules: the fits' serial steps, guard events and scores."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bnnbench.engine.records.record import Record
from bnnbench.metrics import METRICS
from bnnbench.reports.figures.canvas import OWN, Drawing, gridded
from bnnbench.reports.figures.limits import bound
from bnnbench.reports.figures.methods import best_first, gid, shared
from bnnbench.reports.figures.ticks import logarithmic
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
from bnnbench.reports.style import labels
from bnnbench.reports.style.palette import Style

STEPS, GUARDS = "serial_steps", "guard_events"
"""Names of the diagnostics."""
SCORES = frozenset({"accuracy", "nll", "ece", "rmse"})
DRAWN = ("nll", "accuracy", "rmse")

Runs = Mapping[str, Sequence[tuple[float, float]]]
"""method → serial steps and finite score of each run"""


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
            drawings.append(draw_steps(points, levels, styles, prefix, where, axis, higher))
    return drawings


def _counts_steps(record: Record) -> bool:
    return record.outcome.status == "completed" and record.outcome.diagnostics.get(STEPS, 0) > 0


def draw_steps(
    runs: Runs,
    levels: Mapping[str, Sequence[float]],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
    axis: str,
    higher_is_better: bool,
) -> Drawing:
    """Return a scatter plot of runs against the logarithm of their steps.

    `levels` are scores of methods that count no steps, drawn as a line at their mean.
    """
    with gridded() as (figure, axes):
        listed, average = [], {}
        for method, scores in levels.items():
            style, mean = styles[method], float(np.mean(scores))
            axes.axhline(mean, color=OWN, dashes=style.dash or (None, None), linewidth=1.3,
                         gid=gid(method))  # fmt: skip
            average[method] = mean
            listed.append(f"{method} {mean:.3f} at the line")
        for method, points in runs.items():
            style, (steps, scores) = styles[method], zip(*points, strict=True)
            axes.plot(steps, scores, style.marker, color=OWN, markersize=4.5,
                      markeredgewidth=0, alpha=0.75, gid=gid(method))  # fmt: skip
            average[method] = float(np.mean(scores))
            listed.append(f"{method} {np.mean(scores):.3f} at {np.mean(steps):,.0f}")
        axes.set(xlabel="serial steps of a fit", ylabel=axis)
        axes.margins(0.12)
        axes.locator_params(axis="y", nbins=5)
        logarithmic(axes, [steps for points in runs.values() for steps, _ in points])
        every = [score for points in runs.values() for _, score in points]
        far = bound(axes, average, every, higher_is_better)
        description = (
            f"{axis} against serial steps on {where}, means over runs: {'; '.join(listed)}."
        )
        order = best_first(average, higher_is_better)
        drawn = shared(figure, identifier, description, styles, order)
        return drawn.under(f"{axis}, {where}", far)
