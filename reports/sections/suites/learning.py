"""Active learning: scores after every acquisition, and strategies compared with random
acquisition."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bnnbench.engine.records.record import Record
from bnnbench.metrics import METRICS
from bnnbench.metrics.active_learning import area, final_value, share_of_wins
from bnnbench.metrics.statistics import Samples, holm, replicates, wilcoxon
from bnnbench.reports.figures.curves import draw_learning
from bnnbench.reports.judge.columns import (
    Values,
    cell_of,
    filled,
    score_column,
    with_decimals,
)
from bnnbench.reports.judge.table import Cell, Column, Entry, Row, Table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.base import Block, Choice, Material, Section, figures
from bnnbench.reports.style import labels

MAIN = ("rmse", "accuracy")
"""Scores for the comparison; the first one available on a data set is used."""


FIXED = {"wins": ("%", 100.0, 1), "p_value": ("", 1.0, 4)}
"""Column that is not a metric → its unit, scale and decimals."""


@dataclass(frozen=True)
class Pair:
    """A strategy and its method's random strategy, over the repeats that both completed."""

    name: str
    metric: str
    active: np.ndarray
    random: np.ndarray
    """repeats x rounds, averaged over the seeds of a repeat"""
    unconverged: int
    """The number of repeats in which a run of either strategy did not converge."""

    def cell(self, value: Callable[[np.ndarray], np.ndarray]) -> Cell:
        """Return mean and interval of the differences in this number between paired curves."""
        gaps = value(self.active) - value(self.random)
        return cell_of(gaps.tolist(), unconverged=self.unconverged)

    def of(self, number: float) -> Cell:
        """Return a cell with this number."""
        return Cell(number, None, len(self.active), unconverged=self.unconverged)

    @property
    def wins(self) -> float:
        """The share of repeats in which the strategy ends better."""
        better = bool(METRICS[self.metric].higher_is_better)
        return share_of_wins(final_value(self.active), final_value(self.random), better)

    @property
    def p_value(self) -> float:
        """The p-value of the signed rank test after the last round."""
        return wilcoxon(final_value(self.active) - final_value(self.random)).p_value


def main_metric(benchmark: Benchmark) -> str | None:
    """Return the score for comparing strategies; None without active learning."""
    scored = {
        n for r in benchmark.records for c in benchmark.rounds for n in r.outcome.scores.get(c, {})
    }
    return next((name for name in MAIN if name in scored), None)


def curve(benchmark: Benchmark, record: Record, metric: str) -> np.ndarray | None:
    """Return the score after every round; None if any is missing."""
    values = [record.outcome.scores.get(name, {}).get(metric) for name in benchmark.rounds]
    whole = record.outcome.status == "completed" and len(values) > 1 and None not in values
    return np.array(values, float) if whole else None


def curves(benchmark: Benchmark, label: str, metric: str) -> dict[int, np.ndarray]:
    """Return repeat → curve, averaged over its seeds."""
    by_run = {
        (r.fold, r.seed): values
        for r in benchmark.runs.get(label, ())
        if (values := curve(benchmark, r, metric)) is not None
    }
    folds = sorted({fold for fold, _ in by_run})
    if not _by_fold(benchmark):
        return {seed: values for (_, seed), values in by_run.items()}
    return {f: np.mean([v for (fold, _), v in by_run.items() if fold == f], axis=0) for f in folds}


def _by_fold(benchmark: Benchmark) -> bool:
    """Return whether repeats are folds; otherwise they are the seeds of a single fold."""
    return len({r.fold for r in benchmark.records}) > 1


def _unconverged(benchmark: Benchmark, labels: Sequence[str]) -> set[int]:
    """Return the repeats in which a run of these labels did not converge."""
    return {
        r.fold if _by_fold(benchmark) else r.seed
        for label in labels
        for r in benchmark.runs[label]
        if r.outcome.status == "completed" and r.outcome.unconverged
    }


def sections(material: Material) -> Iterator[Section]:
    """Yield the learning curves, and the comparison of strategies with random acquisition."""
    drawings = []
    for benchmark, name, where in material.figure_places("learning"):
        metric = main_metric(benchmark)
        if metric and (arm_curves := curves_by_arm(benchmark, metric)):
            axis = labels.metric(metric)
            higher = bool(METRICS[metric].higher_is_better)
            drawings.append(draw_learning(arm_curves, material.styles, name, where, axis, higher))
    about = (
        "The score on test data after each acquisition, averaged over repeats; the band is one "
        "standard error. At every point the model was trained from scratch."
    )
    note = (
        "All strategies of a method start from the same partition and share random streams, so "
        "repeats are pairs. Results of random acquisition have heavy tails; therefore medians are "
        "shown, too. If lower scores are better, a difference below 0 is a gain of the strategy. "
        "The signed rank test is two-sided, and adjusted by Holm over the table."
    )
    choices = tuple(
        Choice((Block(table, table.title, counts_runs=False),), "metric", table.title)
        for table in learning_tables(material.benchmarks, material.methods)
    )
    if choices:
        galleries = figures("Learning curves", about, drawings)
        yield Section("Active learning", note, choices=choices, galleries=galleries)


def learning_tables(benchmarks: Sequence[Benchmark], methods: Sequence[str]) -> list[Table]:
    """Return areas and medians of all strategies, and the gain of each over random acquisition."""
    active = [b for b in benchmarks if main_metric(b)]
    if not active:
        return []
    metric = str(main_metric(active[0]))
    active = [b for b in active if main_metric(b) == metric]
    name, last = labels.metric(metric), active[0].condition(active[0].rounds[-1])
    tables = [
        _of_arms(f"{name}, {last}: median over repeats", active, methods, _medians(metric)),
        _of_arms(f"{name}, area under the learning curve", active, methods, _areas(metric)),
    ]
    return tables + _of_pairs(name, last, active, metric)


Filling = Callable[[Benchmark, Sequence[str]], tuple[Column, Sequence[Entry]]]


def _areas(metric: str) -> Filling:
    def fill(benchmark: Benchmark, methods: Sequence[str]) -> tuple[Column, Sequence[Entry]]:
        return filled(score_column(benchmark, metric), benchmark, methods, _area(benchmark, metric))

    return fill


def _area(benchmark: Benchmark, metric: str) -> Values:
    def value(record: Record) -> float | None:
        values = curve(benchmark, record, metric)
        return None if values is None else float(area(values))

    return value


def _medians(metric: str) -> Filling:
    def fill(benchmark: Benchmark, methods: Sequence[str]) -> tuple[Column, Sequence[Entry]]:
        last = benchmark.rounds[-1]
        column = replace(score_column(benchmark, metric, last), higher_is_better=None)
        column, cells = filled(
            column, benchmark, methods, lambda r: r.outcome.scores.get(last, {}).get(metric)
        )
        medians = [
            replace(
                cell,
                mean=_median(benchmark, method, metric),
                standard_error=None,
                half_width=None,
            )
            if isinstance(cell, Cell)
            else cell
            for method, cell in zip(methods, cells, strict=True)
        ]
        return column, medians

    return fill


def _median(benchmark: Benchmark, method: str, metric: str) -> float:
    samples: Samples = {
        (r.fold, r.seed): r.outcome.scores[benchmark.rounds[-1]][metric]
        for r in benchmark.runs[method]
        if r.outcome.status == "completed"
        and metric in r.outcome.scores.get(benchmark.rounds[-1], {})
    }
    return float(np.median(replicates(samples, _by_fold(benchmark))))


def _of_arms(
    title: str, benchmarks: Sequence[Benchmark], methods: Sequence[str], fill: Filling
) -> Table:
    """Return methods by data sets."""
    columns, entries = zip(*(fill(b, methods) for b in benchmarks), strict=True)
    rows = []
    for k, method in enumerate(methods):
        runs = [r for b in benchmarks for r in b.runs.get(method, ())]
        done = sum(r.outcome.status == "completed" for r in runs)
        rows.append(Row(method, tuple(cells[k] for cells in entries), len(runs), done))
    return Table(title, _named(columns, benchmarks), tuple(rows), _origin(benchmarks))


def pairs(benchmark: Benchmark, metric: str) -> Iterator[Pair]:
    """Yield every strategy that is not random, paired with its method's random strategy."""
    arms = benchmark.arms
    for label, arm in arms.items():
        rival = next((n for n, o in arms.items() if o.random and o.method == arm.method), None)
        if arm.random or rival is None:
            continue
        ours, theirs = (curves(benchmark, name, metric) for name in (label, rival))
        if common := [fold for fold in ours if fold in theirs]:
            yield Pair(
                f"{arm.method}: {arm.name} less {arms[rival].name}",
                metric,
                np.array([ours[fold] for fold in common]),
                np.array([theirs[fold] for fold in common]),
                len(_unconverged(benchmark, (label, rival)) & set(common)),
            )


def _of_pairs(name: str, last: str, benchmarks: Sequence[Benchmark], metric: str) -> list[Table]:
    """Return pairs of strategies by data sets: differences, shares of wins, and p-values."""
    by_set = [{pair.name: pair for pair in pairs(b, metric)} for b in benchmarks]
    names = sorted({name for pairs in by_set for name in pairs})
    if not names:
        return []
    everyone = [pair for pairs in by_set for pair in pairs.values()]
    adjusted = holm(np.array([pair.p_value for pair in everyone]))
    chance = {id(pair): float(p) for pair, p in zip(everyone, adjusted, strict=True)}
    columns = [replace(score_column(b, metric), higher_is_better=None) for b in benchmarks]
    share, p_values = (
        [replace(c, name=name, unit=unit, scale=scale, decimals=places) for c in columns]
        for name, (unit, scale, places) in FIXED.items()
    )
    kinds: list[tuple[str, list[Column], Callable[[Pair], Cell]]] = [
        (f"{name}, {last}: difference", columns, lambda pair: pair.cell(final_value)),
        (f"{name}, area: difference", columns, lambda pair: pair.cell(area)),
        (f"{name}, {last}: repeats that the strategy wins", share, lambda pair: pair.of(pair.wins)),
        (
            f"{name}, {last}: p of the signed rank test, Holm",
            p_values,
            lambda pair: pair.of(chance[id(pair)]),
        ),
    ]
    tables = []
    for title, empty, cell in kinds:
        entries: list[list[Entry]] = [
            [cell(pairs[name]) if name in pairs else "no pairs" for name in names]
            for pairs in by_set
        ]
        done = [
            c if c.name in FIXED else with_decimals(c, cells)
            for c, cells in zip(empty, entries, strict=True)
        ]
        rows = []
        for k, pair_name in enumerate(names):
            runs = sum(len(pairs[pair_name].active) for pairs in by_set if pair_name in pairs)
            rows.append(Row(pair_name, tuple(cells[k] for cells in entries), runs, runs))
        tables.append(Table(title, _named(done, benchmarks), tuple(rows), _origin(benchmarks)))
    return tables


def _named(columns: Sequence[Column], benchmarks: Sequence[Benchmark]) -> tuple[Column, ...]:
    """Return the columns under the names of their data sets."""
    both = zip(columns, benchmarks, strict=True)
    return tuple(replace(column, heading=b.title) for column, b in both)


def _origin(benchmarks: Sequence[Benchmark]) -> str:
    origins = {b.origin_of(b.main) for b in benchmarks}
    return origins.pop() if len(origins) == 1 else "mixed"


def curves_by_arm(benchmark: Benchmark, metric: str) -> Mapping[str, np.ndarray]:
    """Return label → repeats x rounds, for the strategies with complete curves."""
    by_label = {label: curves(benchmark, label, metric) for label in benchmark.arms}
    return {label: np.array(list(c.values())) for label, c in by_label.items() if c}
