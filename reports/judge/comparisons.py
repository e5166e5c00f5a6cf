"""The comparison of a benchmark's methods by one metric."""

from collections.abc import Mapping, Sequence

from bnnbench.engine.records.record import Record
from bnnbench.metrics.statistics import Samples
from bnnbench.reports.judge.contest import Contest, Points
from bnnbench.reports.judge.decision import Decision, decide
from bnnbench.reports.judge.participants import Exclusion
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.exclusions import is_constant, unfinished
from bnnbench.reports.style.words import share_of


def score_points(benchmark: Benchmark, condition: str, metric: str) -> Points | None:
    """Return the function that gives a run's scores at each point; None without predictions."""
    if (point_scores := benchmark.point_scores) is None or benchmark.by_fold:
        return None
    runs = {(m, (r.fold, r.seed)): r for m, records in benchmark.runs.items() for r in records}
    return lambda method, run: point_scores.of(runs[method, run], condition, metric)


def decision_on(
    benchmark: Benchmark,
    metric: str,
    higher_is_better: bool | None,
    samples: Mapping[str, Samples],
    points: Points | None = None,
) -> Decision | None:
    """Return the decision on the methods by a metric; None if no direction is better."""
    if higher_is_better is None:
        return None
    return decide(contest_of(benchmark, metric, higher_is_better, samples, points))


def contest_of(
    benchmark: Benchmark,
    metric: str,
    higher_is_better: bool,
    samples: Mapping[str, Samples],
    points: Points | None = None,
) -> Contest:
    """Return the scores by a metric, with everything needed to compare the methods.

    `points` returns a run's scores at each test point, if there are any.
    """
    runs = {method: benchmark.runs.get(method, ()) for method in samples}
    return Contest(
        samples,
        higher_is_better,
        benchmark.by_fold,
        benchmark.overlap,
        benchmark.margin(metric),
        frozenset((r.fold, r.seed) for r in benchmark.records),
        {method: why for method in samples if (why := exclusion(runs[method]))},
        points,
    )


def exclusion(runs: Sequence[Record]) -> Exclusion | None:
    """Return why a method's runs exclude it from comparison; None if they do not.

    A fit that did not converge counts by its score: it is what a user of the method gets.
    """
    if is_constant(runs):
        return Exclusion("constant", "a constant")
    if lost := unfinished(runs):
        ended = {run.outcome.status for run in runs if run.outcome.status != "completed"}
        how = ended.pop() if len(ended) == 1 else "failed or diverged"
        return Exclusion("unfinished", f"{share_of(lost, len(runs), 'run')} {how}")
    return None
