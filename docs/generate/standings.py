"""One method's place on the data sets of profiles, and its distance from the best."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bnnbench.engine.records.record import Record
from bnnbench.metrics import LISTED
from bnnbench.reports.judge.statistics.intervals import t_interval
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.exclusions import is_constant
from bnnbench.reports.read.overlap import overlap_of
from docs.generate.finished_runs import suites
from docs.generate.measured import seconds

Options = Mapping[str, str]


def standings_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each data set of profiles, given as "uci:quick".

    The difference is between means over folds or seeds, with its 95 % interval, corrected for
    training rows that folds share; the best by mean is chosen on the same runs.
    """
    of, metric = options["of"], options["metric"]
    yield ("data set", "place by mean", "best by mean", f"{of} minus the best", "CPU s of both")
    yield ("---", "---", "---", "---:", "---:")
    wanted = [tuple(profile.split(":")) for profile in options["profiles"].split(",")]
    for suite, profile in wanted:
        for benchmark in suites()[suite]:
            if benchmark.profile == profile and of in benchmark.runs:
                yield _row(benchmark, of, metric)


def _row(benchmark: Benchmark, of: str, metric: str) -> tuple[str, ...]:
    by_method = {
        method: scores
        for method, runs in benchmark.runs.items()
        if not is_constant(runs) and (scores := _scores(runs, metric))
    }
    means = {method: np.mean([*scores.values()]) for method, scores in by_method.items()}
    ranking = sorted(means, key=lambda m: means[m], reverse=LISTED[metric].higher_is_better)
    best = next(method for method in ranking if method != of)
    common = sorted(by_method[of].keys() & by_method[best].keys())
    gaps = [by_method[of][pair] - by_method[best][pair] for pair in common]
    shared = overlap_of(benchmark.records) if _has_folds(benchmark.runs[of]) else 0.0
    interval = None if shared is None else t_interval(gaps, shared)
    if interval is None:
        raise ValueError(f"no interval for {of} and {best} on {benchmark.dataset}")
    difference = f"{interval.mean:+.3f} ± {interval.half_width:.3f}".replace("-", "−")
    costs = " and ".join(seconds(_mean_seconds(benchmark.runs[method])) for method in (of, best))
    place = f"{ranking.index(of) + 1} of {len(ranking)}"
    return benchmark.dataset.replace("_", " "), place, best, difference, costs


def _scores(runs: Sequence[Record], metric: str) -> dict[int, float]:
    """Return fold → mean over seeds, or seed → score if there is one fold."""
    by_fold = _has_folds(runs)
    values: dict[int, list[float]] = {}
    for run in runs:
        if (score := run.outcome.scores.get("clean", {}).get(metric)) is not None:
            values.setdefault(run.fold if by_fold else run.seed, []).append(score)
    return {pair: float(np.mean(scores)) for pair, scores in values.items()}


def _has_folds(runs: Sequence[Record]) -> bool:
    return len({run.fold for run in runs}) > 1


def _mean_seconds(runs: Sequence[Record]) -> float:
    times = [r.cost.fit_cpu_seconds for r in runs if r.cost and r.cost.fit_cpu_seconds is not None]
    return float(np.mean(times)) if times else math.nan
