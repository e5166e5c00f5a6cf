"""The table of coverage far outside: methods by intervals and sides, with the printed scores."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from bnnbench.reports.judge.columns import standard_error
from bnnbench.reports.judge.table import Cell, Column, Entry, Row, Table
from bnnbench.reports.papers.published import Published
from bnnbench.reports.sections.coverage import SIDES, SIGMAS, WHERE, Covered, FoldCoverage
from bnnbench.reports.style import labels

Values = Callable[[FoldCoverage], float]


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
