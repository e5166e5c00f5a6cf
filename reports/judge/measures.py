"""The main metrics of a benchmark, and the verdict on its runs by each of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bnnbench.datasets.conditions import condition_names
from bnnbench.metrics import PROBED
from bnnbench.metrics.statistics import Samples
from bnnbench.reports.judge.columns import filled, samples_of, score_column, score_under
from bnnbench.reports.judge.comparisons import score_points
from bnnbench.reports.judge.decision import Decision
from bnnbench.reports.judge.sentences import remarks, verdict
from bnnbench.reports.judge.table import Cell, Column
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style import labels

MAIN = (
    ("kl_class_posterior", "eps_mu", "kl_to_exact"),
    ("wasserstein2", "kl_from_reference"),
    ("nll", "log_likelihood", "crps"),
    ("balanced_accuracy", "accuracy", "rmse"),
)
"""Groups of metrics: the first scored metric of each group is used, from at most two groups."""
MOST = 2
AT = {"kl_to_exact": condition_names.drawn(5)}
"""Metric → the condition under which it is judged, if it was measured under it."""


@dataclass(frozen=True)
class Judged:
    """The methods' results by one metric under one condition of one data set."""

    benchmark: Benchmark
    condition: str
    metric: str
    column: Column
    cells: Mapping[str, Cell]
    """method → its mean and interval; methods without a score are absent"""
    samples: Mapping[str, Samples]
    """method → its scores"""

    @property
    def decision(self) -> Decision:
        """The decision on the methods; the main metrics all have a better direction."""
        assert self.column.decision is not None, "a main metric has a better direction"
        return self.column.decision

    @property
    def ordered(self) -> list[tuple[str, Cell]]:
        """The methods, from the best mean to the worst; those that are not compared come last."""
        sign = -1.0 if self.column.higher_is_better else 1.0

        def place(item: tuple[str, Cell]) -> tuple[bool, float]:
            cell = item[1]
            return cell.standing.excluded is not None, sign * cell.mean

        return sorted(self.cells.items(), key=place)

    @property
    def verdict(self) -> list[str]:
        """Sentences on the best method, and on the runs needed to decide more."""
        return verdict(self.column, self.cells, self.name)

    @property
    def remarks(self) -> list[str]:
        """Sentences on the methods that are not compared."""
        return remarks(self.column, self.cells, self.name)

    @property
    def name(self) -> str:
        """The metric in running text, with the condition unless it is the main one."""
        name = labels.in_text(self.metric)
        if self.condition in (self.benchmark.main, *self.benchmark.rounds):
            return name
        return f"{name} ({self.benchmark.condition(self.condition)})"


def main_metrics(benchmarks: Sequence[Benchmark]) -> tuple[str, ...]:
    """Return the metrics that the conclusion about one profile's data sets uses."""
    scored = {m for b in benchmarks for c in _conditions(b) for m in _scored(b, c)}
    chosen = [next((name for name in group if name in scored), None) for group in MAIN]
    return tuple(name for name in chosen if name)[:MOST]


def judged(benchmark: Benchmark, metric: str) -> Judged | None:
    """Return the methods' results by a metric under the main condition; None if none is scored.

    Errors of propagated moments are taken after the last layer that most methods have.
    """
    conditions = [c for c in reversed(_conditions(benchmark)) if metric in _scored(benchmark, c)]
    conditions = [benchmark.main] if benchmark.main in conditions else conditions
    if not conditions:
        return None
    condition = max(conditions, key=lambda c: _runs(benchmark, c, metric))
    condition = AT[metric] if AT.get(metric) in conditions else condition
    value, points = score_under(condition, metric), score_points(benchmark, condition, metric)
    methods = list(benchmark.runs)
    column, cells = filled(score_column(benchmark, metric), benchmark, methods, value, points)
    by_method = dict(zip(methods, cells, strict=True))
    scored = {method: cell for method, cell in by_method.items() if isinstance(cell, Cell)}
    samples = {method: samples_of(benchmark.runs[method], value) for method in scored}
    return Judged(benchmark, condition, metric, column, scored, samples)


def _conditions(benchmark: Benchmark) -> list[str]:
    """Return the main condition, followed by the conditions of probes."""
    probed = {
        c
        for r in benchmark.records
        for c, s in r.outcome.scores.items()
        if s and PROBED.keys() >= set(s)
    }
    return [
        benchmark.main,
        *sorted(probed - {benchmark.main}, key=lambda c: benchmark.traits[c].order),
    ]


def _scored(benchmark: Benchmark, condition: str) -> set[str]:
    return {name for r in benchmark.records for name in r.outcome.scores.get(condition, {})}


def _runs(benchmark: Benchmark, condition: str, metric: str) -> int:
    return sum(metric in r.outcome.scores.get(condition, {}) for r in benchmark.records)
