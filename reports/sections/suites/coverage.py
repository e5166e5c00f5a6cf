"""Coverage far outside the data: methods by intervals and sides, with the printed scores."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from bnnbench.metrics.credible import SIGMAS
from bnnbench.reports.figures.canvas import Drawing, diagonal, drawing, svg
from bnnbench.reports.judge.columns import cell_of
from bnnbench.reports.judge.summaries.coverage import (
    NOMINAL,
    WHERE,
    Covered,
    FoldCoverage,
    covered,
)
from bnnbench.reports.judge.table import Cell, Column, Entry, Row, Table
from bnnbench.reports.papers.published import Published
from bnnbench.reports.papers.together import SIDES
from bnnbench.reports.sections.base import Block, Choice, Gallery, Material, Section, where_of
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import identifier
from bnnbench.reports.style.palette import LABELS, Style

Values = Callable[[FoldCoverage], float]

DASHES = {"negative": (3, 2), "positive": (None, None)}
MARKERS = {"negative": "o", "positive": "s"}


def sections(material: Material) -> Iterator[Section]:
    """Yield a section for each data set that is tested far outside the training inputs."""
    anchor, styles = material.anchor, material.styles
    for number, coverage in enumerate(covered(material.store, material.benchmarks)):
        where = where_of(coverage.benchmark, coverage.benchmark.origin)
        drawings = coverage_drawings(
            coverage, styles, identifier(anchor, number, "coverage"), where
        )
        gallery = Gallery(f"Coverage far outside, {where}", coverage.explanation, drawings)
        table = coverage_table(coverage)
        yield Section(
            labels.sentence(table.title),
            coverage.explanation,
            tuple(coverage.departures),
            (Choice((Block(table),)),),
            (gallery,),
        )


def coverage_table(coverage: Covered) -> Table:
    """Return methods by coverage, its correlation with the mass and its distance from the mass.

    Values are means over folds with standard errors. Printed scores have separate rows.
    """
    kinds = list(_columns())
    rows = []
    for method, folds in coverage.folds.items():
        cells = tuple(_cell(folds, value) for _, value, _ in kinds)
        runs = coverage.benchmark.runs[method]
        completed = sum(record.outcome.status == "completed" for record in runs)
        rows.append(Row(method, cells, len(runs), completed, label=method))
    for method in dict.fromkeys(row.method for row in coverage.printed):
        scores = [coverage.printed_score(method, *key) for _, _, key in kinds]
        networks = max(_networks(row) for row in scores if row)
        cells = tuple(Cell(r.value, None, networks) if r else "not printed" for r in scores)
        rows.append(Row(f"{LABELS.get(method, method)} (printed)", cells, networks, networks))
    benchmark = coverage.benchmark
    title = f"{benchmark.title}: coverage of the true function"
    columns = tuple(replace(column, benchmark=benchmark.identity) for column, _, _ in kinds)
    return Table(title, columns, tuple(rows), benchmark.origin)


PrintedKey = tuple[str, str, str]
"""Metric, side and interval of a printed score; the interval may be empty."""


def _columns() -> Iterator[tuple[Column, Values, PrintedKey]]:
    """Yield each column, the function that computes its value for a fold, and its printed key."""
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
    return cell_of(values.tolist())


def _networks(row: Published) -> int:
    """Return the number of networks of a printed score; 1 if not stated."""
    return int(row.protocol.get("networks", 1))


def coverage_drawings(
    coverage: Covered, styles: Mapping[str, Style], name: str, where: str
) -> tuple[Drawing, ...]:
    """Return coverage against mass on both sides, one drawing per method."""
    drawings = []
    for k, (method, folds) in enumerate(coverage.folds.items()):
        curves = {
            side: np.mean([getattr(fold.curve, side) for fold in folds], axis=0) for side in SIDES
        }
        printed = {
            side: list(zip(NOMINAL, coverage.printed_sigma(method, side), strict=False))
            for side in SIDES
        }
        both = np.mean([fold.curve.correlations[2] for fold in folds])
        caption = "no correlation: constant" if np.isnan(both) else f"correlation {both:.2f}"
        caption += ", marks: printed" if printed["negative"] else ""
        drawings.append(
            draw_coverage(
                *(method, folds[0].curve.mass, curves, printed, styles[method]),
                *(f"{name}-{k}", where, caption),
            )
        )
    return tuple(drawings)


def draw_coverage(
    method: str,
    mass: Float[np.ndarray, " masses"],
    coverage: Mapping[str, Float[np.ndarray, " masses"]],
    printed: Mapping[str, Sequence[tuple[float, float]]],
    style: Style,
    identifier: str,
    where: str,
    caption: str,
) -> Drawing:
    """Return a curve for each side, and hollow marks at printed pairs of mass and coverage."""
    with drawing(2.14) as figure:
        axes = figure.subplots()
        diagonal(axes)
        for side, values in coverage.items():
            axes.plot(mass, values, color=style.colour, linewidth=1.4, dashes=DASHES[side])
        for side, pairs in printed.items():
            for pair in pairs:
                axes.plot(*pair, color=style.colour, marker=MARKERS[side], markersize=4.5,
                          markerfacecolor="none", linestyle="", clip_on=False)  # fmt: skip
        axes.set(xlabel="mass of the interval", ylabel="coverage", aspect="equal")
        middle = int(np.abs(mass - 0.5).argmin())
        listed = "; ".join(f"{side} x {values[middle]:.2f}" for side, values in coverage.items())
        description = (
            f"Coverage of the true function by {method} on {where} against the mass of the "
            f"intervals. At mass {mass[middle]:.2f}: {listed}."
        )
        return Drawing(svg(figure, identifier, description), method, caption)
