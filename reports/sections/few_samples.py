"""Divergence from an exact predictive by the number of draws, and how many draws match."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from bnnbench.metrics import PROBED
from bnnbench.metrics.statistics import mean
from bnnbench.reports.figures import few_samples as figure
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.judge.columns import standard_error
from bnnbench.reports.judge.table import Cell, Column, Entry, Row, Table
from bnnbench.reports.papers.published import Published, table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.base import Block, Choice, Material, Section, figures, origin_to_show
from bnnbench.reports.style import labels
from bnnbench.reports.style.palette import Style
from bnnbench.suites.engine.store.record import Record

CONDITION = re.compile(r"samples_(\d+)")
MAIN = "kl_to_exact"
OTHERS = ("total_variation", "kl_from_exact", "logistic_error", "cubic_error")
DRAWN = (MAIN, "logistic_error")
MONTE_CARLO = "monte_carlo"
MULTIPLES = (1, 2, 4)
PRINTED = {"ciber": "CIBER", "monte carlo": "Monte Carlo"}
RESAMPLES, INTERVAL = 2000, (2.5, 97.5)
"""Of folds, for the interval of a number of draws, and its percentiles."""

Curves = Float[ndarray, "repeats counts"]


@dataclass(frozen=True)
class Counted:
    """One data set: what several methods make of the same few draws."""

    benchmark: Benchmark

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The numbers of draws, ascending."""
        found = {int(m[1]) for r in self._records for c in r.scores if (m := _match(c))}
        return tuple(sorted(found))

    @cached_property
    def _records(self) -> tuple[Record, ...]:
        return tuple(
            r
            for r in self.benchmark.records
            if any(_match(c) and MAIN in scores for c, scores in r.scores.items())
        )

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The methods that were measured."""
        measured = {r.method for r in self._records}
        return tuple(m for m, runs in self.benchmark.runs.items() if runs[0].method in measured)

    @cached_property
    def baseline(self) -> str | None:
        """The method that takes the draws as they are."""
        for method in self.methods:
            described = self.benchmark.runs[method][0].run.get("method")
            integral = described.get("integral") if isinstance(described, Mapping) else None
            if isinstance(integral, Mapping) and integral.get("type") == MONTE_CARLO:
                return method
        return None

    def curves(self, method: str, metric: str) -> Curves:
        """Return repeats by counts, of all repeats (a fold and a seed) that have every count."""
        rows = []
        for record in sorted(self.benchmark.runs[method], key=lambda r: (r.fold, r.seed)):
            row = [record.scores.get(f"samples_{n}", {}).get(metric) for n in self.counts]
            if None not in row:
                rows.append(row)
        return np.array(rows, float).reshape(len(rows), len(self.counts))

    @property
    def explanation(self) -> str:
        """What was measured, in words, and what is printed of it."""
        repeats = len(self.curves(self.methods[0], MAIN))
        printed = " and ".join(
            f"{row.value:.3f} for {PRINTED.get(row.method, labels.sentence(row.method))}"
            for row in _printed(self._records)
        )
        text = (
            "Divergence KL(estimate ‖ exact) of the predictive density from the exact one, the "
            f"mean over test inputs and {repeats} repeats, each with draws from the exact "
            "posterior that all methods share."
        )
        if printed:
            text += (
                f" The paper prints {printed} with 5 draws, for data that it does not describe: "
                "no more than the order of magnitude compares."
            )
        return text


def sections(material: Material) -> Iterator[Section]:
    """Return the errors of few draws beside an exact predictive, where they were measured."""
    drawings: list[Drawing] = []
    choices = []
    for benchmark, name, where in material.named("draws"):
        found = Counted(benchmark)
        if found.counts:
            drawings += count_drawings(found, material.styles, name, where)
            heading, blocks = benchmark.title, tuple(_blocks(found))
            choices.append(Choice(blocks, "set", heading, found.explanation))
    about = (
        "Errors of what few draws of the weights say of the exact predictive, against their "
        "number: the mean over repeats, with a band of one standard error."
    )
    if choices:
        galleries = figures("Errors by draws", about, drawings)
        title = "Few draws beside the exact predictive"
        yield Section(title, choices=tuple(choices), galleries=galleries)


def _blocks(found: Counted) -> Iterator[Block]:
    table = divergence_table(found)
    origin = origin_to_show(found.benchmark)
    yield Block(table, labels.sentence(table.title), origin=origin, counts_runs=False)
    if (equal := equal_table(found)) and equal.rows:
        note = (
            "Where the mean of Monte Carlo falls to the divergence on the left, on straight lines "
            "between logarithms; in brackets the 95 % bootstrap interval over repeats."
        )
        yield Block(equal, labels.sentence(equal.title), note, counts_runs=False)
    for other in other_tables(found):
        yield Block(other, labels.sentence(other.title), counts_runs=False, folded=True)


def divergence_table(found: Counted, metric: str = MAIN) -> Table:
    """Return methods by numbers of draws."""
    columns = tuple(
        Column(f"{metric}_{n}", f"{n}", PROBED[metric].unit, None, 2, digits=2,
               benchmark=found.benchmark.identity, condition=f"samples_{n}")
        for n in found.counts
    )  # fmt: skip
    rows = []
    for method in found.methods:
        curves = found.curves(method, metric)
        if len(curves):
            rows.append(_row(found, method, [_cell(values) for values in curves.T]))
    title = f"{found.benchmark.title}: {labels.metric(metric)} against draws"
    return Table(title, columns, tuple(rows), found.benchmark.origin)


def other_tables(found: Counted) -> list[Table]:
    """Return the tables of the other errors, those that were measured."""
    tables = (divergence_table(found, metric) for metric in OTHERS)
    return [shown for shown in tables if shown.rows]


def equal_table(found: Counted) -> Table | None:
    """Return how many draws Monte Carlo needs where another method has n; None without both."""
    baseline = found.baseline
    if baseline is None:
        return None
    needed = [n for n in found.counts if all(k * n in found.counts for k in MULTIPLES)]
    base, places = found.curves(baseline, MAIN), {n: i for i, n in enumerate(found.counts)}
    columns = [Column("own", "Own, n draws", "nats", None, digits=2)]
    columns += [
        Column(f"baseline_{k}", f"{baseline}, {k if k > 1 else ''}n draws", "nats", None, digits=2)
        for k in MULTIPLES
    ]
    columns.append(Column("equal", f"Draws of {baseline} for the same", "draws", None))
    rows = []
    for method in (m for m in found.methods if m != baseline):
        own = found.curves(method, MAIN)
        for n in needed:
            cells: list[Entry] = [_cell(own[:, places[n]])]
            cells += [_cell(base[:, places[k * n]]) for k in MULTIPLES]
            cells.append(equal_draws(own[:, places[n]], base, found.counts))
            rows.append(_row(found, method, cells, f"{method}, n = {n}"))
    title = f"{found.benchmark.title}: draws of {baseline} for the same divergence"
    return Table(title, tuple(columns), tuple(rows), found.benchmark.origin)


def equal_draws(own: Float[ndarray, " repeats"], base: Curves, counts: Sequence[int]) -> str:
    """Return where the mean of `base` falls to that of `own`, with its bootstrap interval.

    On straight lines between the logarithms; repeats are resampled in pairs where there are
    equally many.
    """
    at = _crossing(own.mean(), base.mean(0), counts)
    if len(own) < 2 or len(own) != len(base):
        return _draws(at, counts)
    rng = np.random.default_rng(0)
    chosen = rng.integers(len(own), size=(RESAMPLES, len(own)))
    found = [_crossing(own[rows].mean(), base[rows].mean(0), counts) for rows in chosen]
    low, high = np.percentile(found, INTERVAL, method="nearest")
    return f"{_draws(at, counts)} ({_draws(low, counts)} to {_draws(high, counts)})"


def _crossing(level: float, curve: Float[ndarray, " counts"], counts: Sequence[int]) -> float:
    """Return the first number at which the curve is at the level, 0 or infinity beyond."""
    if curve[0] <= level:
        return float(counts[0]) if curve[0] == level else 0.0
    below = np.flatnonzero(curve <= level)
    if not len(below):
        return math.inf
    k = int(below[0])
    (x0, x1), (y0, y1) = np.log(counts[k - 1 : k + 1]), np.log(curve[k - 1 : k + 1])
    return math.exp(x0 + (x1 - x0) * (y0 - math.log(level)) / (y0 - y1))


def _draws(number: float, counts: Sequence[int]) -> str:
    if number == 0:
        return f"< {counts[0]}"
    return f"> {counts[-1]}" if number == math.inf else f"{number:.3g}"


def count_drawings(
    found: Counted, styles: Mapping[str, Style], name: str, where: str
) -> tuple[Drawing, ...]:
    """Return errors against the number of draws, both logarithmic."""
    drawings = []
    for metric in DRAWN:
        curves = {m: c for m in found.methods if len(c := found.curves(m, metric))}
        if curves:
            place, axis = f"{name}-{metric}", labels.metric(metric)
            drawings.append(figure.draw(curves, found.counts, styles, place, where, axis))
    return tuple(drawings)


def _row(found: Counted, method: str, cells: Sequence[Entry], name: str = "") -> Row:
    runs = found.benchmark.runs[method]
    completed = sum(record.status == "completed" for record in runs)
    return Row(name or method, tuple(cells), len(runs), completed, label=method)


def _cell(values: Float[ndarray, " repeats"]) -> Cell:
    listed = values.tolist()
    return Cell(mean(listed), standard_error(listed), len(listed))


def _printed(records: Sequence[Record]) -> Iterator[Published]:
    """Yield the printed divergences of the tables that the runs follow."""
    claims = {
        (str(entry.get("paper")), str(entry.get("table")))
        for record in records
        for entry in record.reproduces
    }
    for claim in sorted(claims):
        yield from (row for row in table(*claim) if row.metric == "kl_predictive")


_match: Callable[[str], re.Match[str] | None] = CONDITION.fullmatch
