"""The decision over the data sets of a suite, from its results by one metric."""

import json
import math
from collections.abc import Mapping, Sequence

import numpy as np

from bnnbench.engine.records.record import Record
from bnnbench.metrics.statistics import Samples
from bnnbench.reports.judge.measures import Judged
from bnnbench.reports.judge.over_sets.entries import Entries, league_over
from bnnbench.reports.judge.over_sets.league import League
from bnnbench.reports.judge.over_sets.policies import HeldOut
from bnnbench.reports.judge.over_sets.verdict import Verdict, verdict
from bnnbench.reports.judge.over_sets.worth import Worth, worth_of_league
from bnnbench.reports.judge.summaries.before_fits import held_out_scores, table_facts
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.devices import comparable_times, mean_fit_seconds
from bnnbench.reports.read.exclusions import is_constant

NATS, BY_RATIO = 0.05, ("rmse", "crps")
FLOORS: Mapping[str, float] = {
    **dict.fromkeys(("log_likelihood", "nll", *BY_RATIO), NATS),
    **dict.fromkeys(("accuracy", "balanced_accuracy"), 0.01),
}
"""Metric → least distance from a constant to the best on a data set. Errors in the target's unit
are compared by logarithms, which for a Gaussian with fitted noise are nats."""


def verdict_on(results: Sequence[Judged]) -> Verdict | None:
    """Return the decision over data sets as random by one metric; None if there is none.

    There is none for fewer than eight sets, for sets cut from the same rows, and for metrics
    without a scale from a constant prediction to the best.
    """
    if not results or results[0].metric not in FLOORS or not _are_apart(results):
        return None
    methods = list(dict.fromkeys(m for result in results for m in result.benchmark.runs))
    seconds = _seconds([result.benchmark for result in results], methods)
    of = league_over(
        [_entries(result) for result in results], methods, FLOORS[results[0].metric], seconds
    )
    return verdict(of) if of else None


def worth_on(results: Sequence[Judged], of: League) -> Worth:
    """Return what advice is worth on the data sets of a league; shortlists by log score only."""
    held_out = []
    if results[0].metric in ("log_likelihood", "nll"):
        held_out = [_held_out(result, of.methods) for result in results]
    facts = [table_facts(result.benchmark) for result in results]
    known = [name for name in facts[0] if all(name in one for one in facts)]
    return worth_of_league(of, held_out, {n: np.array([f[n] for f in facts]) for n in known})


def _entries(result: Judged) -> Entries:
    benchmark = result.benchmark
    sign = 1.0 if result.column.higher_is_better else -1.0
    by_ratio = result.metric in BY_RATIO
    return Entries(
        benchmark.title,
        benchmark.by_fold,
        {m: {(r.fold, r.seed): r.outcome.status for r in of} for m, of in benchmark.runs.items()},
        {m: _raised(of, sign, by_ratio) for m, of in result.samples.items()},
        frozenset(m for m, of in benchmark.runs.items() if is_constant(of)),
    )


def _held_out(result: Judged, methods: Sequence[str]) -> HeldOut:
    by_method = {}
    for m in methods:
        by_run: dict[tuple[int, int], list[Record]] = {}
        for record in result.benchmark.runs[m]:
            by_run.setdefault((record.fold, record.seed), []).append(record)
        blocks = {run: held_out_scores(of) for run, of in by_run.items()}
        by_method[m] = {run: of for run, of in blocks.items() if of}
    return _entries(result).held_out(by_method, methods)


def _raised(samples: Samples, sign: float, by_ratio: bool) -> dict[tuple[int, int], float]:
    if not by_ratio:
        return {run: sign * value for run, value in samples.items()}
    return {
        run: sign * math.log(value) if value > 0 else math.nan for run, value in samples.items()
    }


def _are_apart(results: Sequence[Judged]) -> bool:
    """Return whether no two data sets are the same, or cut from the same source."""
    sources = [result.benchmark.records[0].run.get("source") for result in results]
    whole = [one.get("source", one) if isinstance(one, Mapping) else one for one in sources]
    data = [
        json.dumps([one, result.benchmark.dataset if one is None else ""], sort_keys=True)
        for one, result in zip(whole, results, strict=True)
    ]
    return len(set(data)) == len(data)


def _seconds(benchmarks: Sequence[Benchmark], methods: Sequence[str]) -> dict[str, float]:
    of_processors, apart = comparable_times(r for b in benchmarks for r in b.records)
    by_method = {
        m: [mean_fit_seconds(b.runs.get(m, ()), of_processors, apart) for b in benchmarks]
        for m in methods
    }
    return {
        m: sum(known) / len(known)
        for m, of in by_method.items()
        if (known := [seconds for seconds in of if seconds is not None])
    }
