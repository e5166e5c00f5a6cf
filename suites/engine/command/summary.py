"""The tables and the list of failures that end a command."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bnnbench.datasets.conditions.corrupted import means
from bnnbench.datasets.conditions.perturbations import families
from bnnbench.metrics import DISTANCES
from bnnbench.suites.engine.command.means import with_means
from bnnbench.suites.engine.declare.grid import Suite
from bnnbench.suites.engine.store.record import Record

if TYPE_CHECKING:
    from bnnbench.metrics.statistics import Samples, Summary


HEADLINES = 4
"""How many of an evaluation's metrics a terminal shows: the first ones."""

HEADLINES_OF_PROBES = ("eps_mu", "eps_sigma", "kl_class_posterior", "kl_to_exact")
"""The same of what probes measure; the rest says how well that is known."""


HEADLINES_OF_FAMILIES = 2
"""As many where conditions differ in size alone; each has a table with a column for a size."""

MOST_DECIMALS, MOST_MEASURED = 4, 8
"""Of scores, and of what probes measure: divergences of 1e-6 too."""


@dataclass(frozen=True)
class _Column:
    """A column of one table: its heading and a text for each method."""

    heading: str
    cells: tuple[str, ...]
    score: bool = False
    """Whether it says how good a method is, and so carries the mark of runs gone astray."""

    @property
    def width(self) -> int:
        return max(cell_len(text) for text in (self.heading, *self.cells)) + 2


def print_tables(suite: Suite, records: Iterable[Record], console: Console) -> None:
    """Print a table for each data set and condition: mean ± standard error over seeds or folds.

    With several folds, each counts by its mean over seeds. The first metrics of the
    evaluation are shown, behind distances to a reference; the report has them all. Methods
    stand in the suite's order, others after them. A table that is too wide for the console goes
    on in a second one below. Conditions that differ in size alone, and what probes measured, have
    a table for each metric, whose columns are sizes or conditions. A mean over corruptions stands
    for all of them.
    """
    order = {label: place for place, (label, *_) in enumerate(suite.arms)}
    records = sorted(
        map(with_means, records), key=lambda r: (order.get(r.method, len(order)), r.method)
    )
    for dataset, origin in dict.fromkeys((r.dataset, r.origin) for r in records):
        here = [r for r in records if (r.dataset, r.origin) == (dataset, origin)]
        named = {e.condition.name: e.metrics for e in suite.final_evaluations}
        over = means(named)
        named |= {mean: named[parts[0]] for mean, parts in over.items()}
        parts = {part for several in over.values() for part in several}
        sized = families(named.keys() - parts)
        members = {condition for sizes in sized.values() for condition in sizes} | parts
        for evaluation in suite.final_evaluations:
            condition = evaluation.condition.name
            if condition in members:
                continue
            if scored := [r for r in here if condition in r.scores]:
                title = f"{dataset} ({origin}), {condition}"
                lesser = {r.condition_origins[condition] for r in scored} - {origin}
                title += "".join(f" ({other})" for other in sorted(lesser))
                distances = tuple(DISTANCES) if suite.reference else ()
                names = distances + evaluation.metrics[:HEADLINES]
                columns = _columns(scored, condition, names)
                _print_table(title, columns, console, _unconverged(scored))
        for family, sizes in sized.items():
            for metric in named[next(iter(sizes))][:HEADLINES_OF_FAMILIES]:
                columns = _columns_of(here, metric, {f"{s:g}": c for c, s in sizes.items()})
                title = f"{dataset} ({origin}), {metric} by size of {family}"
                _print_table(title, columns, console, _unconverged(here))
        if apart := dict.fromkeys(r.method for r in here if _has_own_network(r)):
            line = f"networks of their own on {dataset}: {', '.join(apart)}"
            console.print(Text(line), soft_wrap=True)
        for metric in HEADLINES_OF_PROBES:
            if measured := [r for r in here if any(metric in s for s in r.scores.values())]:
                columns = _probed_columns(measured, metric)
                title = f"{dataset} ({origin}), {metric}"
                _print_table(title, columns, console, _unconverged(measured))


def _has_own_network(record: Record) -> bool:
    return bool(record.run.get("own_architecture")) or record.own_network is not None


def _by_method(records: Sequence[Record]) -> dict[str, list[Record]]:
    methods = dict.fromkeys(r.method for r in records)
    return {method: [r for r in records if r.method == method] for method in methods}


def _probed_columns(records: Sequence[Record], metric: str) -> list[_Column]:
    """Return the conditions under which probes measured `metric`, in the order of numbers."""
    conditions = {c for r in records for c, s in r.scores.items() if metric in s}
    ordered = {c: c for c in sorted(conditions, key=in_numbers)}
    return _columns_of(records, metric, ordered, MOST_MEASURED)


def _columns_of(
    records: Sequence[Record], metric: str, conditions: Mapping[str, str], most: int = MOST_DECIMALS
) -> list[_Column]:
    """Return one metric under conditions that are given by heading."""
    by_method = _by_method(records)
    by_fold = len({r.fold for r in records}) > 1
    columns = [_Column("method", tuple(by_method))]
    for heading, c in conditions.items():
        samples = [
            {(r.fold, r.seed): r.scores[c][metric] for r in own if metric in r.scores.get(c, {})}
            for own in by_method.values()
        ]
        columns.append(_column(heading, samples, by_fold, most))
    return columns


def in_numbers(name: str) -> tuple[int | str, ...]:
    """Return a key that sorts names by the numbers in them: "layer_2_C" before "layer_10_A"."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name))


def _columns(records: Sequence[Record], condition: str, metrics: Sequence[str]) -> list[_Column]:
    methods, by_method = zip(*_by_method(records).items(), strict=True)
    by_fold = len({r.fold for r in records}) > 1
    scores = [{(r.fold, r.seed): r.scores[condition] for r in own} for own in by_method]
    unanswered = [{n for r in own for n in r.unanswered.get(condition, {})} for own in by_method]
    seconds = [[r.cost.fit_seconds for r in own if r.cost] for own in by_method]
    return [
        _Column("method", methods),
        _Column("runs", tuple(str(len(own)) for own in by_method)),
        *(
            _said(
                _column(
                    m, [{at: s[m] for at, s in own.items() if m in s} for own in scores], by_fold
                ),
                [m in reasons for reasons in unanswered],
            )
            for m in metrics
        ),
        _Column("fit seconds", tuple(f"{np.mean(own):.2f}" if own else "" for own in seconds)),
    ]


def _said(column: _Column, unanswered: Sequence[bool]) -> _Column:
    """Return the column with words where a method's predictions have no answer to its metric."""
    pairs = zip(column.cells, unanswered, strict=True)
    return replace(column, cells=tuple(t or ("not scored" if no else "") for t, no in pairs))


def _column(
    heading: str, samples: Sequence["Samples"], by_fold: bool, most: int = MOST_DECIMALS
) -> _Column:
    """Return each method's mean and standard error, with `most` decimals at most."""
    # scipy.stats loads for long, and workers need none.
    from bnnbench.metrics.statistics import replicates, summary

    values = [np.array(replicates(own, by_fold), float) for own in samples]
    summaries = [summary(own) if len(own) else None for own in values]
    decimals = _decimals([s for s in summaries if s and math.isfinite(s.mean)], most)
    cells = []
    for s in summaries:
        text = f"{s.mean:.{decimals}f}" if s else ""
        if s and math.isfinite(s.standard_error):
            text += f" ± {s.standard_error:.{decimals}f}"
        cells.append(text)
    return _Column(heading, tuple(cells), score=True)


def _unconverged(records: Sequence[Record]) -> dict[str, str]:
    """Return method → how many of its runs say that their fit did not converge, if any do."""
    found: dict[str, list[bool]] = {}
    for record in records:
        astray = record.diagnostics.get("converged") == 0
        found.setdefault(record.method, []).append(astray)
    return {m: f"{sum(runs)} of {len(runs)}" for m, runs in found.items() if any(runs)}


def _marked(column: _Column, methods: Sequence[str], astray: Mapping[str, str]) -> _Column:
    """Return the column with a dagger at the scores of methods gone astray."""
    if not (astray and column.score):
        return column
    both = zip(methods, column.cells, strict=True)
    marks = (text + ("†" if text and m in astray else " ") for m, text in both)
    return replace(column, cells=tuple(marks))


def _decimals(summaries: Sequence["Summary"], most: int) -> int:
    """Return decimals that show one digit of a typical error, or three of a mean; 2 to `most`."""
    errors = [s.standard_error for s in summaries if 0 < s.standard_error < math.inf]
    means = [abs(s.mean) for s in summaries if s.mean]
    digits = -_exponent(median(errors)) if errors else 2 - _exponent(min(means, default=1.0))
    return min(most, max(2, digits))


def _exponent(value: float) -> int:
    return math.floor(math.log10(value))


def _print_table(
    title: str, columns: Sequence[_Column], console: Console, astray: Mapping[str, str]
) -> None:
    label, *rest = columns
    rest = [_marked(column, label.cells, astray) for column in rest]
    while rest:
        taken, width = [label], label.width + 2
        while rest and (len(taken) == 1 or width + rest[0].width <= console.width):
            width += rest[0].width
            taken.append(rest.pop(0))
        console.print(Text(title, "bold"), soft_wrap=True)
        table = Table(box=None, pad_edge=False)
        for column in taken:
            justify = "left" if column is label else "right"
            table.add_column(Text(column.heading), justify=justify, no_wrap=True)
        for row in zip(*(column.cells for column in taken), strict=True):
            table.add_row(*(Text(text) for text in row))
        console.print(table)
        for method, count in astray.items():
            console.print(Text(f"† {method}: {count} runs did not converge"), soft_wrap=True)
        console.print()


def print_failures(records: Iterable[Record], console: Console) -> None:
    """Print one line for each run that failed or diverged, with the reason.

    And one for the conditions under which a method is not scored, in whole or by a metric, though
    its runs went well.
    """
    records = list(records)
    missing: dict[tuple[str, str, str], dict[str, None]] = {}
    for record in records:
        for condition, reason in record.not_scored.items():
            missing.setdefault((record.method, record.dataset, reason), {})[condition] = None
        for condition, reasons in record.unanswered.items():
            for metric, reason in reasons.items():
                place = record.method, record.dataset, reason
                missing.setdefault(place, {})[f"{condition} ({metric})"] = None
    for (method, dataset, reason), conditions in missing.items():
        console.print(
            f"not scored: {method} on {dataset} under {', '.join(conditions)}: {reason}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    for record in records:
        if record.status != "completed":
            reason = (record.error or "no reason given").strip().splitlines()[-1]
            console.print(
                f"{record.status}: {record.method} on {record.dataset}, fold {record.fold}, "
                f"seed {record.seed}: {reason}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
