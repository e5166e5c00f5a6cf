"""Searches behind the settings of finished runs, for documents: places, edges and lengths."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from bnnbench.reports.judge.statistics.intervals import t_interval
from bnnbench.reports.judge.summaries.tuning import Choice, choices
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.exclusions import is_constant
from docs.generate.finished_runs import BUNDLE, suites

Options = Mapping[str, str]

MARGIN = 0.02
"""Largest practically irrelevant difference of mean log likelihood, in nats."""


def places_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each method: its places by mean in two profiles.

    Only methods of both profiles are ranked; rows are in the order of the mean place after.
    """
    before, after, metric = options["before"], options["after"], options["metric"]
    columns = options["datasets"].split(",")
    places = {
        (name, profile): _places(_benchmark(options["suite"], profile, name), metric, common)
        for name in columns
        for common in [_common(options["suite"], name, before, after)]
        for profile in (before, after)
    }
    of_after = pd.DataFrame({name: places[name, after] for name in columns})
    yield ("", *columns)
    yield ("---", *("---:" for _ in columns))
    for method in of_after.mean(axis=1).sort_values(kind="stable").index:
        moves = (_move(places[name, before], places[name, after], method) for name in columns)
        yield method, *moves


def edges_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each method: choices on an edge of their space.

    A cell counts the folds' searches that chose a setting on an edge, and those that chose the
    longest fit.
    """
    columns = options["datasets"].split(",")
    cells: dict[str, dict[str, str]] = {}
    for name in columns:
        for method, runs in _benchmark(options["suite"], options["profile"], name).runs.items():
            if of_folds := list({c.record.fold: c for c in choices(runs)}.values()):
                cells.setdefault(method, {})[name] = _on_edges(of_folds)
    yield ("", *columns)
    yield ("---", *("---:" for _ in columns))
    for method, of in cells.items():
        yield method, *(of.get(name, "") for name in columns)


def longer_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each method: four-fold lengths minus chosen ones.

    Cells are mean differences of the held-out rows' log likelihood over folds, with 95 %
    intervals; "+" marks gains above the margin.
    """
    table = pd.read_csv(BUNDLE / options["file"])
    columns = list(dict.fromkeys(table.dataset))
    yield ("", *columns)
    yield ("---", *("---:" for _ in columns))
    for method in dict.fromkeys(table.method):
        of = table[table.method == method]
        yield method, *(_gain(options, name, of[of.dataset == name]) for name in columns)


def _gain(options: Options, dataset: str, rows: pd.DataFrame) -> str:
    facts = _benchmark(options["suite"], options["profile"], dataset).records[0].circumstances.facts
    gaps = (rows.longer - rows.chosen).dropna()
    interval = t_interval(list(gaps), facts["test_rows"] / facts["train_rows"])
    if interval is None:
        return "diverged" if len(rows) else ""
    mark = " +" if interval.mean - interval.half_width > MARGIN else ""
    diverged = f", {len(rows) - len(gaps)} diverged" if len(rows) > len(gaps) else ""
    text = f"{interval.mean:+.3f} ± {interval.half_width:.3f}".replace("-", "−")
    return f"{text}{diverged}{mark}"


def _on_edges(of_folds: Sequence[Choice]) -> str:
    settings = sum(any(path != "length" for path in choice.edges) for choice in of_folds)
    longest = sum(c.length == c.search.lengths[-1] and len(c.search.lengths) > 1 for c in of_folds)
    return f"{settings} and {longest} of {len(of_folds)}"


def _benchmark(suite: str, profile: str, dataset: str) -> Benchmark:
    (benchmark,) = (b for b in suites()[suite] if (b.profile, b.dataset) == (profile, dataset))
    return benchmark


def _common(suite: str, dataset: str, *profiles: str) -> list[str]:
    """Return the methods that both profiles have, without constants."""
    first, second = (_benchmark(suite, profile, dataset).runs for profile in profiles)
    return [m for m in first if m in second and not is_constant(first[m])]


def _places(benchmark: Benchmark, metric: str, methods: Sequence[str]) -> pd.Series:
    means = {
        m: pd.Series(
            [r.outcome.scores["clean"][metric] for r in benchmark.runs[m] if r.outcome.scores]
        ).mean()
        for m in methods
    }
    return pd.Series(means).rank(ascending=False).astype(int)


def _move(before: pd.Series, after: pd.Series, method: str) -> str:
    return f"{before[method]} → {after[method]}" if method in before else ""
