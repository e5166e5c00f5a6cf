"""Divergence from an exact predictive by the number of draws, and equivalent numbers of draws."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from bnnbench.engine.records.record import Record
from bnnbench.metrics import PROBED
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.figures.curves import draw_few_samples
from bnnbench.reports.judge.columns import cell_of
from bnnbench.reports.judge.table import Cell, Column, Entry, Row, Table
from bnnbench.reports.papers.published import Published, table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.base import Block, Choice, Material, Section, figures, origin_to_show
from bnnbench.reports.style import labels
from bnnbench.reports.style.palette import Style

MAIN = "kl_to_exact"
OTHERS = ("total_variation", "kl_from_exact", "logistic_error", "cubic_error")
DRAWN = (MAIN, "logistic_error")
MONTE_CARLO = "monte_carlo"
MULTIPLES = (1, 2, 4)
PRINTED = {"ciber": "CIBER", "monte carlo": "Monte Carlo"}
RESAMPLES, INTERVAL = 2000, (2.5, 97.5)
"""The number of bootstrap resamples for the interval of a number of draws, and percentiles."""

Curves = Float[ndarray, "repeats counts"]


@dataclass(frozen=True)
class FewDraws:
    """One data set on which several methods predict from the same few draws."""

    benchmark: Benchmark

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The numbers of draws, ascending."""
        return tuple(sorted(self._conditions))

    @cached_property
    def _conditions(self) -> Mapping[int, str]:
        """Number of draws → condition."""
        traits = self.benchmark.traits
        measured = {c for r in self._records for c in r.outcome.scores}
        return {draws: c for c in measured if (draws := traits[c].draws) is not None}

    def condition(self, draws: int) -> str:
        """Return the name of the condition with this number of draws."""
        return self._conditions[draws]

    @cached_property
    def _records(self) -> tuple[Record, ...]:
        return tuple(
            r
            for r in self.benchmark.records
            if any(
                self.benchmark.traits[c].draws is not None and MAIN in scores
                for c, scores in r.outcome.scores.items()
            )
        )

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The methods that were measured."""
        measured = {r.method for r in self._records}
        return tuple(m for m, runs in self.benchmark.runs.items() if runs[0].method in measured)

    @cached_property
    def baseline(self) -> str | None:
        """The plain Monte Carlo method, which uses the draws unchanged."""
        for method in self.methods:
            described = self.benchmark.runs[method][0].run.get("method")
            integral = described.get("integral") if isinstance(described, Mapping) else None
            if isinstance(integral, Mapping) and integral.get("type") == MONTE_CARLO:
                return method
        return None

    def curves(self, method: str, metric: str) -> Curves:
        """Return repeats x counts, for all repeats (a fold and a seed) that have every count."""
        rows = []
        for record in sorted(self.benchmark.runs[method], key=lambda r: (r.fold, r.seed)):
            row = [
                record.outcome.scores.get(self._conditions[n], {}).get(metric) for n in self.counts
            ]
            if None not in row:
                rows.append(row)
        return np.array(rows, float).reshape(len(rows), len(self.counts))

    @property
    def explanation(self) -> str:
        """The text above the tables: the measurement and the printed values."""
        repeats = len(self.curves(self.methods[0], MAIN))
        printed = " and ".join(
            f"{row.value:.3f} for {PRINTED.get(row.method, labels.sentence(row.method))}"
            for row in _printed(self._records)
        )
        text = (
            "The divergence KL(estimate ‖ exact) of the predictive density from the exact one, "
            f"averaged over test inputs and {repeats} repeats. In each repeat all methods share "
            "the same draws from the exact posterior."
        )
        if printed:
            text += (
                f" The paper prints {printed} with 5 draws, for data that it does not describe; "
                "only the order of magnitude can be compared."
            )
        return text


def sections(material: Material) -> Iterator[Section]:
    """Yield the errors of few draws relative to an exact predictive, if they were measured."""
    drawings: list[Drawing] = []
    choices = []
    for benchmark, name, where in material.figure_places("draws"):
        few_draws = FewDraws(benchmark)
        if few_draws.counts:
            drawings += count_drawings(few_draws, material.styles, name, where)
            heading, blocks = benchmark.title, tuple(_blocks(few_draws))
            choices.append(Choice(blocks, "set", heading, few_draws.explanation))
    about = (
        "Errors of predictions from a few draws of the weights, relative to the exact predictive, "
        "against the number of draws: the mean over repeats, with a band of one standard error."
    )
    if choices:
        galleries = figures("Errors by draws", about, drawings)
        title = "Few draws compared with the exact predictive"
        yield Section(title, choices=tuple(choices), galleries=galleries)


def _blocks(few_draws: FewDraws) -> Iterator[Block]:
    table = divergence_table(few_draws)
    origin = origin_to_show(few_draws.benchmark)
    yield Block(table, labels.sentence(table.title), origin=origin, counts_runs=False)
    if (equal := equal_table(few_draws)) and equal.rows:
        note = (
            "The last column is the number of draws at which the mean of Monte Carlo falls to the "
            "divergence in the first column, interpolated between logarithms; in brackets is the "
            "95 % bootstrap interval over repeats."
        )
        yield Block(equal, labels.sentence(equal.title), note, counts_runs=False)
    for error_table in other_tables(few_draws):
        yield Block(error_table, labels.sentence(error_table.title), counts_runs=False, folded=True)


def divergence_table(few_draws: FewDraws, metric: str = MAIN) -> Table:
    """Return methods by numbers of draws."""
    columns = tuple(
        Column(f"{metric}_{n}", f"{n}", PROBED[metric].unit, None, 2, digits=2,
               benchmark=few_draws.benchmark.identity, condition=few_draws.condition(n))
        for n in few_draws.counts
    )  # fmt: skip
    rows = []
    for method in few_draws.methods:
        curves = few_draws.curves(method, metric)
        if len(curves):
            rows.append(_row(few_draws, method, [_cell(values) for values in curves.T]))
    title = f"{few_draws.benchmark.title}: {labels.metric(metric)} against draws"
    return Table(title, columns, tuple(rows), few_draws.benchmark.origin)


def other_tables(few_draws: FewDraws) -> list[Table]:
    """Return the tables of the other measured errors."""
    tables = (divergence_table(few_draws, metric) for metric in OTHERS)
    return [filled for filled in tables if filled.rows]


def equal_table(few_draws: FewDraws) -> Table | None:
    """Return the number of Monte Carlo draws that match n draws of each other method.

    None without a Monte Carlo baseline.
    """
    baseline = few_draws.baseline
    if baseline is None:
        return None
    needed = [n for n in few_draws.counts if all(k * n in few_draws.counts for k in MULTIPLES)]
    base, places = few_draws.curves(baseline, MAIN), {n: i for i, n in enumerate(few_draws.counts)}
    columns = [Column("own", "Own, n draws", "nats", None, digits=2)]
    columns += [
        Column(f"baseline_{k}", f"{baseline}, {k if k > 1 else ''}n draws", "nats", None, digits=2)
        for k in MULTIPLES
    ]
    columns.append(Column("equal", f"Draws of {baseline} for the same", "draws", None))
    rows = []
    for method in (m for m in few_draws.methods if m != baseline):
        curves = few_draws.curves(method, MAIN)
        for n in needed:
            cells: list[Entry] = [_cell(curves[:, places[n]])]
            cells += [_cell(base[:, places[k * n]]) for k in MULTIPLES]
            cells.append(equal_draws(curves[:, places[n]], base, few_draws.counts))
            rows.append(_row(few_draws, method, cells, f"{method}, n = {n}"))
    title = f"{few_draws.benchmark.title}: draws of {baseline} for the same divergence"
    return Table(title, tuple(columns), tuple(rows), few_draws.benchmark.origin)


def equal_draws(values: Float[ndarray, " repeats"], base: Curves, counts: Sequence[int]) -> str:
    """Return the count at which the mean of `base` falls to the mean of `values`, with an interval.

    Means are interpolated between logarithms. The interval is a bootstrap over pairs of repeats;
    it is omitted if their numbers differ.
    """
    at = _crossing(values.mean(), base.mean(0), counts)
    if len(values) < 2 or len(values) != len(base):
        return _draws(at, counts)
    rng = np.random.default_rng(0)
    chosen = rng.integers(len(values), size=(RESAMPLES, len(values)))
    crossings = [_crossing(values[rows].mean(), base[rows].mean(0), counts) for rows in chosen]
    low, high = np.percentile(crossings, INTERVAL, method="nearest")
    return f"{_draws(at, counts)} ({_draws(low, counts)} to {_draws(high, counts)})"


def _crossing(level: float, curve: Float[ndarray, " counts"], counts: Sequence[int]) -> float:
    """Return the first number at which the curve reaches the level; else 0 or infinity."""
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
    few_draws: FewDraws, styles: Mapping[str, Style], name: str, where: str
) -> tuple[Drawing, ...]:
    """Return errors against the number of draws, both logarithmic."""
    drawings = []
    for metric in DRAWN:
        curves = {m: c for m in few_draws.methods if len(c := few_draws.curves(m, metric))}
        if curves:
            place, axis = f"{name}-{metric}", labels.metric(metric)
            drawings.append(draw_few_samples(curves, few_draws.counts, styles, place, where, axis))
    return tuple(drawings)


def _row(few_draws: FewDraws, method: str, cells: Sequence[Entry], name: str = "") -> Row:
    runs = few_draws.benchmark.runs[method]
    completed = sum(record.outcome.status == "completed" for record in runs)
    return Row(name or method, tuple(cells), len(runs), completed, label=method)


def _cell(values: Float[ndarray, " repeats"]) -> Cell:
    return cell_of(values.tolist())


def _printed(records: Sequence[Record]) -> Iterator[Published]:
    """Yield the printed divergences of the tables that the runs follow."""
    claims = {
        (str(entry.get("paper")), str(entry.get("table")))
        for record in records
        for entry in record.reproduces
    }
    for claim in sorted(claims):
        yield from (row for row in table(*claim) if row.metric == "kl_predictive")
