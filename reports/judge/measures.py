"""The main metrics of a benchmark, and the verdict on its runs by each of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bnnbench.datasets.conditions import condition_names
from bnnbench.metrics import PROBED
from bnnbench.metrics.statistics import Samples, mean, replicates
from bnnbench.reports.judge.columns import score_column, score_under, standard_error
from bnnbench.reports.judge.paired import Verdict, compare, holdout_ratio
from bnnbench.reports.judge.table import Column
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import decimals, number

MAIN = (
    ("kl_class_posterior", "eps_mu", "kl_to_exact"),
    ("wasserstein2", "kl_from_reference"),
    ("nll", "log_likelihood", "crps"),
    ("accuracy", "rmse"),
)
"""Groups of metrics: the first scored metric of a group is used, of at most two groups."""
MOST = 2
AT = {"kl_to_exact": condition_names.drawn(5)}
"""Metric → the condition under which it is judged, if it was measured there."""


@dataclass(frozen=True)
class Judged:
    """The methods by one metric under one condition of one data set."""

    benchmark: Benchmark
    condition: str
    metric: str
    column: Column
    samples: Mapping[str, Samples]
    """method → its scores; methods without one are absent"""
    means: Mapping[str, float]
    errors: Mapping[str, float | None]
    verdict: Verdict

    @property
    def name(self) -> str:
        """The metric in running text, and the condition unless it is the main one."""
        name = in_text(self.metric)
        if self.condition in (self.benchmark.main, *self.benchmark.rounds):
            return name
        return f"{name} ({self.benchmark.condition(self.condition)})"

    def number(self, method: str) -> str:
        """Return a method's mean ± standard error, with its unit."""
        error = self.errors[method]
        spread = "" if error is None else f" ± {self._printed(error)}"
        return f"{self._printed(self.means[method])}{spread}{self._unit}"

    def amount(self, value: float) -> str:
        """Return a difference in the metric's unit, in two digits."""
        value = abs(value) * self.column.scale
        unit = " points" if self._unit == " %" else self._unit
        if not (math.isfinite(value) and value > 0):
            return f"{number(value, 0)}{unit}"
        return f"{number(value, max(0, 1 - math.floor(math.log10(value))))}{unit}"

    def _printed(self, value: float) -> str:
        return number(value * self.column.scale, self.column.decimals)

    @property
    def _unit(self) -> str:
        return f" {self.column.unit}" if self.column.unit else ""


def in_text(metric: str) -> str:
    """Return a metric's name inside a sentence: "accuracy", "NLL"."""
    name = labels.metric(metric)
    return name[:1].lower() + name[1:] if name[1:2].islower() else name


def main_metrics(benchmarks: Sequence[Benchmark]) -> tuple[str, ...]:
    """Return the metrics used for the answer on the data sets of one profile."""
    scored = {m for b in benchmarks for c in _conditions(b) for m in _scored(b, c)}
    chosen = [next((name for name in group if name in scored), None) for group in MAIN]
    return tuple(name for name in chosen if name)[:MOST]


def judged(benchmark: Benchmark, metric: str) -> Judged | None:
    """Return the methods by a metric, under the main condition; None where none is scored.

    Errors of propagated moments are taken after the last layer that most methods have.
    """
    scored = [c for c in reversed(_conditions(benchmark)) if metric in _scored(benchmark, c)]
    scored = [benchmark.main] if benchmark.main in scored else scored
    if not scored:
        return None
    condition = max(scored, key=lambda c: _runs(benchmark, c, metric))
    condition = AT[metric] if AT.get(metric) in scored else condition
    value, by_fold = score_under(condition, metric), is_by_fold(benchmark)
    samples: dict[str, Samples] = {}
    for method, runs in benchmark.runs.items():
        scores = {(r.fold, r.seed): value(r) for r in runs if r.status == "completed"}
        if known := {pair: float(v) for pair, v in scores.items() if v is not None}:
            samples[method] = known
    values = {method: replicates(known, by_fold) for method, known in samples.items()}
    means = {method: mean(numbers) for method, numbers in values.items()}
    errors = {method: standard_error(numbers) for method, numbers in values.items()}
    column = score_column(benchmark, metric)
    places = decimals(
        [m * column.scale for m in means.values()], [e * column.scale for e in errors.values() if e]
    )
    column = replace(column, decimals=places)
    ratio = holdout_ratio(benchmark.records)
    verdict = compare(samples, column.higher_is_better, by_fold, ratio)
    return Judged(benchmark, condition, metric, column, samples, means, errors, verdict)


def is_by_fold(benchmark: Benchmark) -> bool:
    """Return whether the replicates are folds, each the mean of its seeds."""
    return len({r.fold for r in benchmark.records}) > 1


def _conditions(benchmark: Benchmark) -> list[str]:
    """Return the main condition, followed by those that probes measured."""
    probed = {
        c for r in benchmark.records for c, s in r.scores.items() if s and PROBED.keys() >= set(s)
    }
    return [
        benchmark.main,
        *sorted(probed - {benchmark.main}, key=lambda c: benchmark.traits[c].order),
    ]


def _scored(benchmark: Benchmark, condition: str) -> set[str]:
    return {name for r in benchmark.records for name in r.scores.get(condition, {})}


def _runs(benchmark: Benchmark, condition: str, metric: str) -> int:
    return sum(metric in r.scores.get(condition, {}) for r in benchmark.records)
