"""The tables that a terminal shows at the end of a suite: few metrics, and no decisions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from bnnbench.datasets.conditions.corruption_means import means
from bnnbench.datasets.conditions.traits import families, from_data
from bnnbench.engine.declare.grid import Certified, Suite
from bnnbench.engine.records.record import Record
from bnnbench.metrics import CERTIFIED, DISTANCES
from bnnbench.reports.judge.columns import cost_column, filled, score_column, score_under
from bnnbench.reports.judge.table import Cell, Column, Entry, Table
from bnnbench.reports.read.benchmarks import Benchmark, benchmarks
from bnnbench.reports.read.means import with_means
from bnnbench.reports.sections.condition_tables import table_of
from bnnbench.reports.sections.suites.treatments import treatment_tables

HEADLINES = 4
"""Number of an evaluation's first metrics that a terminal shows."""

HEADLINES_OF_FAMILIES = 2
"""Number of metrics shown if conditions differ only in size; each metric has its own table."""

HEADLINES_OF_PROBES = (
    *("eps_mu", "eps_sigma", "kl_class_posterior", "kl_to_exact", "kl_from_exact"),
)
"""Metrics of probes that a terminal shows; the others are their uncertainties."""

Filled = tuple[Column, Sequence[Entry]]


def terminal_tables(suite: Suite, records: Iterable[Record]) -> list[list[Table]]:
    """Return the tables of each data set.

    Distances to a reference come first, then the first metrics of an evaluation. Methods are in the
    suite's order, then others. Conditions that differ only in size, and probes, have a table per
    metric, whose columns are sizes or conditions. A mean over corruptions replaces its parts.
    """
    order = {arm.label: rank for rank, arm in enumerate(suite.arms)}
    of_datasets = []
    for benchmark in benchmarks(map(with_means, records)):
        methods = sorted(benchmark.runs, key=lambda m: (order.get(m, len(order)), m))
        tables = _tables(suite, benchmark, methods)
        of_datasets.append([table for table in tables if table.columns])
    return of_datasets


def _tables(suite: Suite, benchmark: Benchmark, methods: Sequence[str]) -> Iterator[Table]:
    metrics_of = {e.condition.name: e.metrics for e in suite.final_evaluations}
    averages = means(metrics_of)
    metrics_of |= {name: metrics_of[traits.parts[0]] for name, traits in averages.items()}
    parts = {part for traits in averages.values() for part in traits.parts}
    traits = {e.condition.name: e.condition.traits for e in suite.final_evaluations} | averages
    sized = families({name: one for name, one in traits.items() if name not in parts})
    members = {condition for sizes in sized.values() for condition in sizes} | parts
    place = f"{benchmark.dataset} ({benchmark.origin})"
    place += f", {benchmark.setting}" if benchmark.setting else ""
    for condition in (e.condition.name for e in suite.final_evaluations):
        if condition not in members:
            names = (*_distances(suite), *metrics_of[condition][:HEADLINES])
            columns = [_scores(benchmark, methods, name, condition) for name in names]
            seconds = cost_column(benchmark, "fit_seconds", methods)
            origin = benchmark.origin_of(condition)
            title = f"{place}, {condition}" + f" ({origin})" * (origin != benchmark.origin)
            yield _table(title, columns, benchmark, methods, seconds)
    yield from treatment_tables(benchmark, methods, compared=False)
    for family, sizes in sized.items():
        for name in metrics_of[next(iter(sizes))][:HEADLINES_OF_FAMILIES]:
            conditions = {f"{size:g}": condition for condition, size in sizes.items()}
            columns = _by_condition(benchmark, methods, name, conditions)
            title = f"{place}, {name} by {family.size_name}: {family.title}"
            yield _table(title, columns, benchmark, methods)
    for name in HEADLINES_OF_PROBES:
        columns = _by_condition(benchmark, methods, name, _probed(benchmark, name))
        yield _table(f"{place}, {name}", columns, benchmark, methods)


def _distances(suite: Suite) -> tuple[str, ...]:
    """Return the first columns of a suite that has a reference."""
    if isinstance(suite.reference, Certified):
        return tuple(CERTIFIED)[:HEADLINES]
    return tuple(DISTANCES) if isinstance(suite.reference, str) else ()


def _probed(benchmark: Benchmark, metric: str) -> Mapping[str, str]:
    """Return the conditions under which probes measured a metric, sorted by number."""
    conditions = {c for r in benchmark.records for c, s in r.outcome.scores.items() if metric in s}
    traits = {
        c: data for r in benchmark.records for c, data in r.circumstances.condition_traits.items()
    }
    return {c: c for c in sorted(conditions, key=lambda c: from_data(traits[c]).order)}


def _by_condition(
    benchmark: Benchmark, methods: Sequence[str], name: str, conditions: Mapping[str, str]
) -> list[Filled]:
    """Return a column of one metric for each condition; `conditions` are by heading."""
    columns = (_scores(benchmark, methods, name, condition) for condition in conditions.values())
    return [
        (replace(column, heading=heading, unit=""), entries)
        for heading, (column, entries) in zip(conditions, columns, strict=True)
    ]


def _scores(benchmark: Benchmark, methods: Sequence[str], name: str, condition: str) -> Filled:
    """Return a column whose methods are not compared, which would take a terminal too long."""
    column = replace(score_column(benchmark, name, condition), higher_is_better=None)
    return filled(column, benchmark, methods, score_under(condition, name))


def _table(
    title: str, columns: Sequence[Filled], benchmark: Benchmark, methods: Sequence[str],
    *costs: Filled,
) -> Table:  # fmt: skip
    """Return the table of the columns that have a value, which has no costs if none has one."""
    scored = [(c, cells) for c, cells in columns if any(isinstance(one, Cell) for one in cells)]
    pairs = [*scored, *costs] if scored else []
    return table_of(title, pairs, benchmark, methods, benchmark.origin)
