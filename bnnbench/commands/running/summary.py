"""The tables and the list of failures at the end of a command."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bnnbench.commands.running.means import with_means
from bnnbench.commands.terminal.failures import frames_of, reason_of
from bnnbench.datasets.conditions.corruption_means import means
from bnnbench.datasets.conditions.traits import families, from_data
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.declare.grid import Certified, Suite
from bnnbench.engine.records.record import Record
from bnnbench.metrics import CERTIFIED, DISTANCES

if TYPE_CHECKING:
    from bnnbench.metrics.statistics import Samples, Summary


HEADLINES = 4
"""Number of an evaluation's first metrics that a terminal shows."""

HEADLINES_OF_PROBES = (
    *("eps_mu", "eps_sigma", "kl_class_posterior", "kl_to_exact", "kl_from_exact"),
)
"""Metrics of probes that a terminal shows; the others are their uncertainties."""


HEADLINES_OF_FAMILIES = 2
"""Number of metrics shown if conditions differ only in size; each metric has its own table."""

MOST_DECIMALS, MOST_MEASURED = 4, 8
"""Decimals of scores and of measured scores, which may be divergences of 1e-6."""

SPREAD = (
    "± is one standard error over folds, or over the seeds of a single fold; pages and verdicts "
    "show half the width of a 95 % interval."
)

SCIENTIFIC = 1e6
"""Numbers from this size on are printed as 1.23e+06, as on pages."""


@dataclass(frozen=True)
class _Column:
    """A column of one table: its heading and a text for each method."""

    heading: str
    cells: tuple[str, ...]
    score: bool = False
    """True for a score, which is marked if runs did not converge."""

    @property
    def width(self) -> int:
        return max(cell_len(text) for text in (self.heading, *self.cells)) + 2


def print_tables(suite: Suite, records: Iterable[Record], console: Console) -> None:
    """Print a table for each data set and condition: mean ± standard error over seeds or folds.

    With several folds, each fold contributes its mean over seeds. Distances to a reference come
    first, then the first metrics of the evaluation; the report has all metrics. Methods are in the
    suite's order, then others. A table too wide for the console continues in a second one below.
    Conditions that differ only in size, and probes, have a table per metric, whose columns are
    sizes or conditions. A mean over corruptions replaces its parts.
    """
    order = {arm.label: rank for rank, arm in enumerate(suite.arms)}
    records = sorted(
        map(with_means, records), key=lambda r: (order.get(r.method, len(order)), r.method)
    )
    for dataset, origin in dict.fromkeys((r.dataset, r.circumstances.origin) for r in records):
        records_here = [
            r for r in records if (r.dataset, r.circumstances.origin) == (dataset, origin)
        ]
        metrics_of = {e.condition.name: e.metrics for e in suite.final_evaluations}
        averages = means(metrics_of)
        metrics_of |= {name: metrics_of[traits.parts[0]] for name, traits in averages.items()}
        parts = {part for traits in averages.values() for part in traits.parts}
        traits = {e.condition.name: e.condition.traits for e in suite.final_evaluations} | averages
        sized = families({name: one for name, one in traits.items() if name not in parts})
        members = {condition for sizes in sized.values() for condition in sizes} | parts
        for evaluation in suite.final_evaluations:
            condition = evaluation.condition.name
            if condition in members:
                continue
            if scored := [r for r in records_here if condition in r.outcome.scores]:
                title = f"{dataset} ({origin}), {condition}"
                lesser = {r.circumstances.condition_origins[condition] for r in scored} - {origin}
                title += "".join(
                    f" ({origin_of_condition})" for origin_of_condition in sorted(lesser)
                )
                distances = _distances(suite)
                names = distances + evaluation.metrics[:HEADLINES]
                columns = _columns(scored, condition, names)
                _print_table(title, columns, console, _unconverged(scored))
        for family, sizes in sized.items():
            for metric in metrics_of[next(iter(sizes))][:HEADLINES_OF_FAMILIES]:
                columns = _columns_of(records_here, metric, {f"{s:g}": c for c, s in sizes.items()})
                title = f"{dataset} ({origin}), {metric} by {family.size_name}: {family.title}"
                _print_table(title, columns, console, _unconverged(records_here))
        unsteady = {
            (r.method, reason)
            for r in records_here
            for reason in r.outcome.batch_dependence.values()
        }
        for method, reason in sorted(unsteady):
            console.print(Text(legible(f"{method} on {dataset}: {reason}")), soft_wrap=True)
        if separate := dict.fromkeys(r.method for r in records_here if _has_own_network(r)):
            line = f"with their own networks on {dataset}: {', '.join(separate)}"
            console.print(Text(legible(line)), soft_wrap=True)
        if elsewhere := dict.fromkeys(r.method for r in records_here if r.external is not None):
            line = f"external predictions on {dataset}: {', '.join(elsewhere)}"
            console.print(Text(legible(line)), soft_wrap=True)
        for metric in HEADLINES_OF_PROBES:
            if measured := [
                r for r in records_here if any(metric in s for s in r.outcome.scores.values())
            ]:
                columns = _probed_columns(measured, metric)
                title = f"{dataset} ({origin}), {metric}"
                _print_table(title, columns, console, _unconverged(measured))
    if len({(r.fold, r.seed) for r in records}) > 1:
        console.print(Text(SPREAD))


def _distances(suite: Suite) -> tuple[str, ...]:
    """Return the first columns of a suite that has a reference."""
    if isinstance(suite.reference, Certified):
        return tuple(CERTIFIED)[:HEADLINES]
    return tuple(DISTANCES) if isinstance(suite.reference, str) else ()


def _has_own_network(record: Record) -> bool:
    return bool(record.run.get("own_architecture")) or record.outcome.own_network is not None


def _by_method(records: Sequence[Record]) -> dict[str, list[Record]]:
    methods = dict.fromkeys(r.method for r in records)
    return {method: [r for r in records if r.method == method] for method in methods}


def _probed_columns(records: Sequence[Record], metric: str) -> list[_Column]:
    """Return a column for each condition under which probes measured `metric`, sorted by number."""
    conditions = {c for r in records for c, s in r.outcome.scores.items() if metric in s}
    traits = {c: data for r in records for c, data in r.circumstances.condition_traits.items()}
    ordered = sorted(conditions, key=lambda c: from_data(traits[c]).order)
    return _columns_of(records, metric, {c: c for c in ordered}, MOST_MEASURED)


def _columns_of(
    records: Sequence[Record], metric: str, conditions: Mapping[str, str], most: int = MOST_DECIMALS
) -> list[_Column]:
    """Return a column of one metric for each condition; `conditions` are by heading."""
    by_method = _by_method(records)
    by_fold = len({r.fold for r in records}) > 1
    columns = [_Column("method", tuple(by_method))]
    for heading, c in conditions.items():
        samples = [
            {
                (r.fold, r.seed): r.outcome.scores[c][metric]
                for r in records_of_method
                if metric in r.outcome.scores.get(c, {})
            }
            for records_of_method in by_method.values()
        ]
        columns.append(_column(heading, samples, by_fold, most))
    return columns


def _columns(records: Sequence[Record], condition: str, metrics: Sequence[str]) -> list[_Column]:
    methods, by_method = zip(*_by_method(records).items(), strict=True)
    by_fold = len({r.fold for r in records}) > 1
    scores = [
        {(r.fold, r.seed): r.outcome.scores[condition] for r in members} for members in by_method
    ]
    unanswered = [
        {n for r in members for n in r.outcome.unanswered.get(condition, {})}
        for members in by_method
    ]
    seconds = [[r.cost.fit_seconds for r in members if r.cost] for members in by_method]
    return [
        _Column("method", methods),
        _Column("runs", tuple(str(len(members)) for members in by_method)),
        *(
            _explained(
                _column(
                    m,
                    [{at: s[m] for at, s in members.items() if m in s} for members in scores],
                    by_fold,
                ),
                [m in reasons for reasons in unanswered],
            )
            for m in metrics
        ),
        _Column(
            "fit seconds",
            tuple(f"{np.mean(members):.2f}" if members else "" for members in seconds),
        ),
    ]


def _explained(column: _Column, unanswered: Sequence[bool]) -> _Column:
    """Return the column with "not scored" if a method's predictions do not support its metric."""
    pairs = zip(column.cells, unanswered, strict=True)
    return replace(
        column,
        cells=tuple(t or ("not scored" if is_unanswered else "") for t, is_unanswered in pairs),
    )


def _column(
    heading: str, samples: Sequence["Samples"], by_fold: bool, most: int = MOST_DECIMALS
) -> _Column:
    """Return each method's mean and standard error, with at most `most` decimals."""
    # scipy.stats is slow to load, and workers do not need it.
    from bnnbench.metrics.statistics import replicates, summary

    values = [np.array(replicates(sample, by_fold), float) for sample in samples]
    summaries = [summary(sample) if len(sample) else None for sample in values]
    decimals = _decimals([s for s in summaries if s and math.isfinite(s.mean)], most)
    cells = []
    for s in summaries:
        text = _number(s.mean, decimals) if s else ""
        if s and math.isfinite(s.standard_error):
            text += f" ± {_number(s.standard_error, decimals)}"
        cells.append(text)
    return _Column(heading, tuple(cells), score=True)


def _number(value: float, decimals: int) -> str:
    huge = SCIENTIFIC <= abs(value) < math.inf
    return f"{value:.2e}" if huge else f"{value:.{decimals}f}"


def _unconverged(records: Sequence[Record]) -> dict[str, str]:
    """Return method → "3 of 5", its runs that did not converge, for methods that have any."""
    flags: dict[str, list[bool]] = {}
    for record in records:
        astray = record.outcome.diagnostics.get("converged") == 0
        flags.setdefault(record.method, []).append(astray)
    return {m: f"{sum(of_runs)} of {len(of_runs)}" for m, of_runs in flags.items() if any(of_runs)}


def _marked(column: _Column, methods: Sequence[str], astray: Mapping[str, str]) -> _Column:
    """Return the column with a dagger at scores of methods with runs that did not converge."""
    if not (astray and column.score):
        return column
    cells = zip(methods, column.cells, strict=True)
    marks = (text + ("†" if text and m in astray else " ") for m, text in cells)
    return replace(column, cells=tuple(marks))


def _legible(column: _Column) -> _Column:
    cells = tuple(map(legible, column.cells))
    return replace(column, heading=legible(column.heading), cells=cells)


def _decimals(summaries: Sequence["Summary"], most: int) -> int:
    """Return decimals showing one digit of a typical error, or three of a mean; 2 to `most`."""
    errors = [s.standard_error for s in summaries if 0 < s.standard_error < math.inf]
    means = [abs(s.mean) for s in summaries if s.mean]
    digits = -_exponent(median(errors)) if errors else 2 - _exponent(min(means, default=1.0))
    return min(most, max(2, digits))


def _exponent(value: float) -> int:
    return math.floor(math.log10(value))


def _print_table(
    title: str, columns: Sequence[_Column], console: Console, astray: Mapping[str, str]
) -> None:
    label, *remaining = columns
    marked = [_marked(column, label.cells, astray) for column in remaining]
    label, *remaining = map(_legible, (label, *marked))
    while remaining:
        shown, width = [label], label.width + 2
        while remaining and (len(shown) == 1 or width + remaining[0].width <= console.width):
            width += remaining[0].width
            shown.append(remaining.pop(0))
        console.print(Text(legible(title), "bold"), soft_wrap=True)
        table = Table(box=None, pad_edge=False)
        for column in shown:
            justify = "left" if column is label else "right"
            table.add_column(Text(column.heading), justify=justify, no_wrap=True)
        for row in zip(*(column.cells for column in shown), strict=True):
            table.add_row(*(Text(text) for text in row))
        console.print(table)
        for method, count in astray.items():
            console.print(
                Text(f"† {legible(method)}: {count} runs did not converge"), soft_wrap=True
            )
        console.print()


def _together(
    missing: Mapping[tuple[str, str, str], Iterable[str]],
) -> Iterator[tuple[str, str, str, str]]:
    """Yield methods, data sets, conditions and reason; lines with equal reasons are merged."""
    methods: dict[tuple[str, str, str], list[str]] = {}
    for (method, dataset, reason), conditions in missing.items():
        methods.setdefault((dataset, ", ".join(conditions), reason), []).append(method)
    datasets: dict[tuple[str, str, str], list[str]] = {}
    for (dataset, conditions, reason), names in methods.items():
        datasets.setdefault((", ".join(names), conditions, reason), []).append(dataset)
    for (names, conditions, reason), sets in datasets.items():
        yield names, ", ".join(sets), conditions, reason


def print_failures(records: Iterable[Record], console: Console) -> None:
    """Print one line for each run that failed or diverged, with the reason.

    The last frames of a traceback follow its first occurrence. Completed runs without some scores
    come first, one line for each reason.
    """
    records = list(records)
    missing: dict[tuple[str, str, str], dict[str, None]] = {}
    for record in records:
        for condition, reason in record.outcome.not_scored.items():
            missing.setdefault((record.method, record.dataset, reason), {})[condition] = None
        for condition, reasons in record.outcome.unanswered.items():
            for metric, reason in reasons.items():
                missing_key = record.method, record.dataset, reason
                missing.setdefault(missing_key, {})[f"{condition} ({metric})"] = None
    for methods, datasets, conditions, reason in _together(missing):
        console.print(
            legible(f"not scored: {methods} on {datasets} under {conditions}: {reason}"),
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    shown: set[tuple[str, ...]] = set()
    for record in records:
        if record.outcome.status != "completed":
            lines = [
                f"{record.outcome.status}: {record.method} on {record.dataset}, "
                f"fold {record.fold}, seed {record.seed}: {reason_of(record)}"
            ]
            if (frames := frames_of(record)) not in shown:
                shown.add(frames)
                lines += frames
            text = "\n".join(map(legible, lines))
            console.print(text, markup=False, highlight=False, soft_wrap=True)
