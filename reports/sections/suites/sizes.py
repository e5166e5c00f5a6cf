"""Scores against the size of a perturbation: noise, attacks, rotations, severities."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from statistics import fmean

import numpy as np

from bnnbench.datasets.conditions import traits
from bnnbench.engine.records.record import Record, distance_from_official
from bnnbench.metrics import ATTACKED, METRICS
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.figures.curves import draw_sizes
from bnnbench.reports.judge.columns import filled, score_column, score_under
from bnnbench.reports.judge.comparisons import score_points
from bnnbench.reports.judge.table import Table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.base import Material, Section, figures, figures_alone, where_of
from bnnbench.reports.sections.condition_tables import ordered, table_of
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import identifier
from bnnbench.reports.style.palette import Style

SHOWN = ("accuracy", "nll", "ece", "rmse", "log_odds_of_errors_median")

SHARE = 0.01
"""Points without gradient are mentioned if they exceed this share."""


@dataclass(frozen=True)
class Family:
    """Conditions of a data set that differ only in size."""

    benchmark: Benchmark
    kind: traits.Family
    sizes: Mapping[str, float]
    """condition → size, in ascending order; clean data have size 0"""

    @property
    def title(self) -> str:
        """The name of the perturbation of test inputs."""
        return self.kind.title

    @property
    def axis(self) -> str:
        """The name of the sizes."""
        return self.kind.size_name

    @property
    def is_part(self) -> bool:
        """True if it is summarised in a mean over families."""
        return any(self.last in described.parts for described in self.benchmark.traits.values())

    @property
    def last(self) -> str:
        """The condition of the largest size."""
        return tuple(self.sizes)[-1]

    @property
    def description(self) -> str:
        """The perturbation and the range of its sizes."""
        sizes = [size for size in self.sizes.values() if size]
        return f"{self.title}, {self.axis} {sizes[0]:g} to {sizes[-1]:g}"

    def scored(self, names: Sequence[str]) -> list[str]:
        """Return the metrics that some run has under several sizes."""
        metrics = [c.keys() for c in self._scores()]
        return [name for name in names if sum(name in c for c in metrics) > 1]

    def _scores(self) -> list[Mapping[str, float]]:
        """Return the scores of all runs together, for every size."""
        records = self.benchmark.records
        return [
            {n: v for r in records for n, v in r.outcome.scores.get(c, {}).items()}
            for c in self.sizes
        ]

    @property
    def metrics(self) -> list[str]:
        """The metrics that have a table, in the order of the page."""
        names = {name for scores in self._scores() for name in scores if name in SHOWN}
        return self.scored(ordered(names))

    def curves(self, metric: str) -> Mapping[str, np.ndarray]:
        """Return method → runs x sizes, for the completed runs that are scored under every size.

        Runs with a missing value are left out, such as log odds of errors without an error.
        """
        by_method = {}
        for method, runs in self.benchmark.runs.items():
            rows = [
                [r.outcome.scores.get(c, {}).get(metric) for c in self.sizes] for r in _done(runs)
            ]
            if whole := [row for row in rows if None not in row]:
                by_method[method] = np.array(whole, float)
        return by_method

    @property
    def doubts(self) -> list[str]:
        """Sentences about signs that an attack failed because of masked gradients."""
        if not self.scored(tuple(ATTACKED)):
            return []
        sentences = []
        falling = [m for m, c in self.curves("nll").items() if _falls(c)]
        if falling:
            sentences.append(f"The loss falls as the size grows: {', '.join(falling)}.")
        blind = []
        for method, runs in self.benchmark.runs.items():
            shares = [
                r.outcome.scores[c]["zero_gradient"]
                for r in _done(runs)
                for c in self.sizes
                if "zero_gradient" in r.outcome.scores.get(c, {})
            ]
            if shares and max(shares) > SHARE:
                blind.append(f"{method} ({100 * max(shares):.0f} %)")
        if blind:
            sentences.append(f"The gradient is exactly 0 at some points: {', '.join(blind)}.")
        return sentences

    @property
    def not_scored(self) -> list[str]:
        """Sentences that name the methods that are not scored, with the reasons."""
        methods_by_reason: dict[str, dict[str, None]] = {}
        for method, runs in self.benchmark.runs.items():
            for record in runs:
                for condition in self.sizes:
                    if reason := record.outcome.not_scored.get(condition):
                        methods_by_reason.setdefault(reason, {})[method] = None
        return [f"Not scored: {', '.join(who)}: {why}." for why, who in methods_by_reason.items()]


def sized_families(benchmark: Benchmark) -> list[Family]:
    """Return the families of a benchmark's conditions, with clean data as size 0."""
    main = benchmark.traits.get(benchmark.main)
    clean = {benchmark.main: 0.0} if main and main.clean else {}
    families = []
    conditions = {name: benchmark.traits[name] for name in benchmark.conditions}
    for kind, sizes in traits.families(conditions).items():
        start = {} if 0.0 in sizes.values() else clean
        family = Family(benchmark, kind, start | sizes)
        if family.scored(tuple(METRICS)):
            families.append(family)
    return families


def sections(material: Material) -> Iterator[Section]:
    """Yield the figures of scores by the size of a perturbation, one gallery per family."""
    galleries = []
    about = (
        "The mean over runs; the band is one standard error. At size 0 the test data are unchanged."
    )
    for number, benchmark in enumerate(material.benchmarks):
        for k, family in enumerate(f for f in sized_families(benchmark) if not f.is_part):
            where = where_of(benchmark, benchmark.origin_of(family.last))
            name = identifier(material.anchor, number, f"sizes-{k}")
            drawings = size_drawings(family, material.styles, name, where)
            galleries += figures(f"{family.title}, {where}", about, drawings)
    yield from figures_alone(galleries)


def size_tables(family: Family, methods: Sequence[str]) -> list[Table]:
    """Return a table for each metric: methods by sizes."""
    tables = []
    benchmark = family.benchmark
    for name in family.metrics:
        pairs = []
        for condition, size in family.sizes.items():
            column = replace(score_column(benchmark, name, condition), heading=f"{size:g}")
            value, points = score_under(condition, name), score_points(benchmark, condition, name)
            pairs.append(filled(column, benchmark, methods, value, points))
        title = f"{benchmark.title}, {family.title}: {labels.metric(name)}"
        origin = benchmark.origin_of(family.last)
        tables.append(table_of(title, pairs, benchmark, methods, origin))
    return tables


def part_tables(families: Sequence[Family], methods: Sequence[str]) -> list[Table]:
    """Return a table for each metric: methods by families, the mean over sizes above 0."""
    tables = []
    for name in families[0].metrics if families else ():
        benchmark, pairs = families[0].benchmark, []
        for family in families:
            moved = [condition for condition, size in family.sizes.items() if size]
            heading = family.kind.short or family.title
            column = replace(score_column(benchmark, name), heading=heading)
            pairs.append(filled(column, benchmark, methods, partial(_mean, moved, name)))
        title = f"{benchmark.title}, mean over {families[0].axis}: "
        origin = max((benchmark.origin_of(f.last) for f in families), key=distance_from_official)
        tables.append(table_of(title + labels.metric(name), pairs, benchmark, methods, origin))
    return tables


def _mean(conditions: Sequence[str], name: str, record: Record) -> float | None:
    """Return the mean of a run's scores; None if any of them is missing."""
    values = [record.outcome.scores.get(condition, {}).get(name) for condition in conditions]
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def size_drawings(
    family: Family, styles: Mapping[str, Style], identifier: str, where: str
) -> list[Drawing]:
    """Return a figure for each of the scores that are drawn."""
    sizes = np.array(list(family.sizes.values()))
    drawings = []
    for name in SHOWN:
        curves = family.curves(name)
        if name in family.metrics and curves:
            axes, place = (family.axis, labels.metric(name)), f"{identifier}-{name}"
            higher = bool(METRICS[name].higher_is_better)
            drawings.append(draw_sizes(curves, sizes, styles, place, where, axes, higher))
    return drawings


def _done(runs: Sequence[Record]) -> list[Record]:
    return [record for record in runs if record.outcome.status == "completed"]


def _falls(curves: np.ndarray) -> bool:
    """Return whether the curves of all runs fall between the same two sizes."""
    return any((after < before).all() for before, after in pairwise(curves.T))
