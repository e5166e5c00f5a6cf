"""Coverage far outside the data: methods by intervals and sides, beside the printed scores."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from bnnbench.reports.figures import coverage as figure
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.judge.columns import standard_error
from bnnbench.reports.judge.coverage import (
    NOMINAL,
    SIDES,
    SIGMAS,
    WHERE,
    Covered,
    FoldCoverage,
    covered,
)
from bnnbench.reports.judge.table import Cell, Column, Entry, Row, Table
from bnnbench.reports.papers.published import Published
from bnnbench.reports.sections.base import Block, Choice, Gallery, Material, Section, where_of
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import identifier
from bnnbench.reports.style.palette import Style

Values = Callable[[FoldCoverage], float]


def sections(material: Material) -> Iterator[Section]:
    """Return a section for each data set that is tested far outside."""
    anchor, styles = material.anchor, material.styles
    for number, found in enumerate(covered(material.store, material.benchmarks)):
        where = where_of(found.benchmark, found.benchmark.origin)
        drawings = coverage_drawings(found, styles, identifier(anchor, number, "coverage"), where)
        gallery = Gallery(f"Coverage far outside, {where}", found.explanation, drawings)
        table = coverage_table(found)
        yield Section(
            labels.sentence(table.title),
            found.explanation,
            tuple(found.departures),
            (Choice((Block(table),)),),
            (gallery,),
        )


def coverage_table(found: Covered) -> Table:
    """Return methods by coverage, its correlation with mass and its distance from it.

    The mean over folds, with its standard error. Printed scores stand in rows of their own.
    """
    kinds = list(_columns())
    rows = []
    for method, folds in found.folds.items():
        cells = tuple(_cell(folds, value) for _, value, _ in kinds)
        runs = found.benchmark.runs[method]
        completed = sum(record.status == "completed" for record in runs)
        rows.append(Row(method, cells, len(runs), completed, label=method))
    for method in dict.fromkeys(row.method for row in found.printed):
        scores = [found.printed_score(method, *wanted) for _, _, wanted in kinds]
        networks = max(_networks(row) for row in scores if row)
        cells = tuple(Cell(r.value, None, networks) if r else "not printed" for r in scores)
        rows.append(Row(f"{labels.sentence(method)} (printed)", cells, networks, networks))
    benchmark = found.benchmark
    title = f"{benchmark.title}: coverage of the true function"
    columns = tuple(replace(column, benchmark=benchmark.identity) for column, _, _ in kinds)
    return Table(title, columns, tuple(rows), benchmark.origin)


Wanted = tuple[str, str, str]
"""Metric, side and interval of a printed score; the interval may be empty."""


def _columns() -> Iterator[tuple[Column, Values, Wanted]]:
    """Yield each column, its value of a fold, and the printed score that belongs there."""
    for side in SIDES:
        for k, interval in enumerate(SIGMAS):
            heading = f"{k + 1}σ, {WHERE[side]}"
            yield (
                Column(f"coverage_{interval}_{side}", heading, "%", None, 1, 100.0),
                lambda fold, k=k, side=side: float(fold.sigma[side][k]),
                ("coverage", side, interval),
            )
    for k, side in enumerate(("positive", "negative", "both")):
        yield (
            Column(f"correlation_{side}", f"Correlation, {WHERE[side]}", "", True, 2),
            lambda fold, k=k: fold.curve.correlations[k],
            ("coverage_mass_correlation", side, ""),
        )
    for k, side in enumerate(("positive", "negative")):
        yield (
            Column(f"bias_{side}", f"|Coverage − mass|, {WHERE[side]}", "", False, 2),
            lambda fold, k=k: fold.curve.biases[k],
            ("", side, ""),
        )


def _cell(folds: Sequence[FoldCoverage], value: Values) -> Entry:
    values = np.array([value(fold) for fold in folds])
    if constant := int(np.isnan(values).sum()):
        return f"constant in {constant} of {len(values)}" if len(values) > 1 else "constant"
    return Cell(float(values.mean()), standard_error(values.tolist()), len(values))


def _networks(row: Published) -> int:
    """Return how many networks are behind a printed score, 1 where that is not stated."""
    stated = re.search(r"networks=(\d+)", row.protocol)
    return int(stated[1]) if stated else 1


def coverage_drawings(
    found: Covered, styles: Mapping[str, Style], name: str, where: str
) -> tuple[Drawing, ...]:
    """Return coverage against mass on both sides, a drawing for each method."""
    drawings = []
    for k, (method, folds) in enumerate(found.folds.items()):
        curves = {
            side: np.mean([getattr(fold.curve, side) for fold in folds], axis=0) for side in SIDES
        }
        printed = {
            side: list(zip(NOMINAL, found.printed_sigma(method, side), strict=False))
            for side in SIDES
        }
        both = np.mean([fold.curve.correlations[2] for fold in folds])
        caption = "no correlation: constant" if np.isnan(both) else f"correlation {both:.2f}"
        caption += ", marks: printed" if printed["negative"] else ""
        drawings.append(
            figure.draw(
                *(method, folds[0].curve.mass, curves, printed, styles[method]),
                *(f"{name}-{k}", where, caption),
            )
        )
    return tuple(drawings)
