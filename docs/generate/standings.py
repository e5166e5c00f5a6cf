"""For documents: one column of a report's table, and a method's place in those of a profile."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bnnbench.engine.records.record import Record
from bnnbench.metrics import LISTED
from bnnbench.reports.judge.decision import STATES, Standing
from bnnbench.reports.judge.measures import Judged, judged
from bnnbench.reports.judge.sentences import margin_text
from bnnbench.reports.judge.statistics.intervals import t_interval
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.exclusions import is_constant
from bnnbench.reports.read.overlap import overlap_of
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import number
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


def column_table(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each method, the best mean first."""
    column = _judged(options)
    yield ("method", labels.metric(column.metric), "± (95 %)", "decision")
    yield ("---", "---:", "---:", "---")
    sign = -1 if column.column.higher_is_better else 1
    for method, cell in sorted(column.cells.items(), key=lambda item: sign * item[1].mean):
        mean, half = (
            number(None if value is None else value * column.column.scale, column.column.decimals)
            for value in (cell.mean, cell.half_width)
        )
        yield (method, mean, half, _decision(column.decision.standings[method]))


def column_text(options: Mapping[str, str]) -> str:
    """Return the sentences that a report has about the column, and its margin."""
    column = _judged(options)
    sentences = " ".join([*column.verdict, *column.remarks])
    margin = f"{margin_text(column.column)} of {labels.in_text(column.metric)}"
    return f"> {sentences} Practically equal means within {margin}.\n"


def count_text(options: Mapping[str, str]) -> str:
    """Return the number of methods in the state `count`, or of all compared methods."""
    decision = _judged(options).decision
    if options["count"] == "compared":
        return str(sum(map(len, decision.candidates)))
    (state,) = (state for state in STATES if STATES[state] == options["count"])
    return str(len(decision.named(state)))


def _decision(standing: Standing) -> str:
    if standing.excluded:
        return f"not compared: {standing.excluded.reason}"
    return STATES[standing.state]


def _judged(options: Mapping[str, str]) -> Judged:
    """Return the column named by `suite`, `profile`, `dataset` and `metric`."""
    found = [
        benchmark
        for benchmark in suites()[options["suite"]]
        if (benchmark.profile, benchmark.title) == (options["profile"], options["dataset"])
    ]
    if len(found) != 1 or not (column := judged(found[0], options["metric"])):
        raise ValueError(f"no single column of docs/bundle for {dict(options)}")
    return column
