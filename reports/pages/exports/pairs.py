"""The differences between all pairs of methods, for `bnnbench report export --format pairs`."""

from collections.abc import Iterator, Sequence

from bnnbench.engine.store.tables import csv_text
from bnnbench.metrics import LISTED
from bnnbench.metrics.base import Margins
from bnnbench.reports.judge.columns import samples_of, score_under
from bnnbench.reports.judge.comparisons import contest_of, score_points
from bnnbench.reports.judge.pairs import pairs
from bnnbench.reports.pages.report.content import judged_benchmarks
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.load import Results

PAIR_COLUMNS = (
    *("suite", "profile", "table", "condition", "metric", "better", "other", "difference"),
    *("standard_error", "freedom", "p_value", "shaffer_p", "question"),
)


def pair_table(suites: Sequence[Results], margins: Margins) -> str:
    """Return one line of CSV for each pair of methods, metric and condition."""
    rows = (
        (results.suite, benchmark.profile, benchmark.title, *row)
        for results in suites
        for benchmark in judged_benchmarks(results, margins)
        for row in _rows(benchmark)
    )
    return csv_text(PAIR_COLUMNS, rows)


def _rows(benchmark: Benchmark) -> Iterator[tuple[object, ...]]:
    scored = {(c, m) for r in benchmark.records for c, s in r.outcome.scores.items() for m in s}
    for condition, name in sorted(scored):
        better = LISTED[name].higher_is_better if name in LISTED else None
        if better is None:
            continue
        value = score_under(condition, name)
        samples = {m: samples_of(runs, value) for m, runs in benchmark.runs.items()}
        points = score_points(benchmark, condition, name)
        for pair in pairs(contest_of(benchmark, name, better, samples, points)):
            yield condition, name, *vars(pair).values()
