"""How methods compare after learning from 50, 150 and 500 rows of the same tables.

Every size is decided on its own: a method's share of the gap from a constant prediction to the best
method, as in the decision over data sets.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy import stats

from bnnbench.engine.records.record import Record
from bnnbench.reports.judge.over_sets.league import SetScores, Shares, shares
from bnnbench.reports.judge.statistics.intervals import t_interval
from bnnbench.reports.pages.site.questions import LIKELIHOOD
from bnnbench.reports.read.exclusions import is_constant
from bnnbench.reports.style.numbers import typographic
from docs.generate.finished_runs import suites

Options = Mapping[str, str]
Sizes = dict[int, dict[str, dict[str, list[Record]]]]
"""Rows → table → method → its runs, by split."""
METRIC = "log_likelihood"


def sizes_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each method of a profile such as "tables:sizes".

    A cell is the mean share over tables with its 95 % interval, and the mean rank.
    """
    sizes = _sizes(options)
    methods, by_size = _shares(sizes)
    yield "method", *(f"{rows} rows" for rows in sizes)
    yield ("---", *("---:" for _ in sizes))
    order = np.argsort([-np.mean([of.u[m].mean() for of in by_size]) for m in range(len(methods))])
    for m in order:
        yield methods[m], *(_cell(of, m) for of in by_size)


def size_differences_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield rows of the difference in share between the methods `of=` and `less=`, by size."""
    sizes = _sizes(options)
    methods, by_size = _shares(sizes)
    one, other = (methods.index(options[name]) for name in ("of", "less"))
    yield "rows", f"{options['of']} less {options['less']} ± 95 %", "ahead on"
    yield ("---:", "---:", "---:")
    for rows, of in zip(sizes, by_size, strict=True):
        difference = of.u[one] - of.u[other]
        ahead = f"{int((difference > 0).sum())} of {len(difference)}"
        yield str(rows), _interval(difference, sign=True), ahead


def orders_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield mean rank correlations of methods on equal tables, and on equal numbers of rows."""
    sizes = _sizes(options)
    _, by_size = _shares(sizes)
    ranks = np.array([of.ranks for of in by_size])  # size, method, table
    yield "correlation of orders", "mean", "least", "largest"
    yield ("---", "---:", "---:", "---:")
    names = list(sizes)
    for a, b in combinations(range(len(names)), 2):
        same = [_correlation(ranks[a, :, g], ranks[b, :, g]) for g in range(ranks.shape[2])]
        yield f"{names[a]} and {names[b]} rows, the same table", *_summary(same)
    for a, rows in enumerate(names):
        pairs = combinations(range(ranks.shape[2]), 2)
        other = [_correlation(ranks[a, :, g], ranks[a, :, h]) for g, h in pairs]
        yield f"two tables, {rows} rows of each", *_summary(other)


def _sizes(options: Options) -> Sizes:
    """Return the runs of a profile whose data sets are named like "airfoil-50"."""
    suite, profile = options["profile"].split(":")
    sizes: Sizes = {}
    for benchmark in suites()[suite]:
        if benchmark.profile == profile:
            table, rows = benchmark.dataset.rsplit("-", 1)
            runs = {m: sorted(of, key=lambda r: r.fold) for m, of in benchmark.runs.items()}
            sizes.setdefault(int(rows), {})[table] = runs
    return {rows: dict(sorted(sizes[rows].items())) for rows in sorted(sizes)}


def _shares(sizes: Sizes) -> tuple[list[str], list[Shares]]:
    """Return the methods with runs everywhere, but for the constant, and their shares by size."""
    every = [runs for tables in sizes.values() for runs in tables.values()]
    methods = [m for m in every[0] if all(m in runs for runs in every)]
    (constant,) = (m for m in methods if is_constant(every[0][m]))
    methods.remove(constant)
    return methods, [
        shares([_scored(t, runs, methods, constant) for t, runs in tables.items()], _floor())
        for tables in sizes.values()
    ]


def _floor() -> float:
    return LIKELIHOOD.floor or 0.0


def _scored(
    table: str, runs: Mapping[str, Sequence[Record]], methods: Sequence[str], constant: str
) -> SetScores:
    return SetScores(table, np.array([_scores(runs[m]) for m in methods]), _scores(runs[constant]))


def _scores(runs: Sequence[Record]) -> Float[ndarray, " splits"]:
    """Return the log likelihood on each split; NaN for a failed fit."""
    clean = (run.outcome.scores.get("clean", {}) for run in runs)
    return np.array([math.nan if (s := of.get(METRIC)) is None else s for of in clean])


def _cell(of: Shares, m: int) -> str:
    rank = (1 + (1 - of.ranks[m]) * len(of.ranks)).mean()
    return f"{_interval(of.u[m])}, rank {rank:.1f}"


def _interval(values: Float[ndarray, " sets"], sign: bool = False) -> str:
    interval = t_interval(values.tolist())
    assert interval is not None, "shares are finite, and of several tables"
    mean = f"{interval.mean:+.2f}" if sign else f"{interval.mean:.2f}"
    return typographic(f"{mean} ± {interval.half_width:.2f}")


def _correlation(one: ndarray, other: ndarray) -> float:
    return float(stats.spearmanr(one, other).statistic)


def _summary(values: Sequence[float]) -> tuple[str, str, str]:
    mean, least, most = (f"{v:.2f}" for v in (np.mean(values), min(values), max(values)))
    return typographic(mean), typographic(least), typographic(most)
