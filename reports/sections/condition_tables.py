"""Methods by metrics under a test condition, by diagnostics, and by data sets."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bnnbench.engine.records.record import Record
from bnnbench.metrics import LISTED
from bnnbench.reports.judge.columns import (
    COSTS,
    cost_columns,
    diagnostic_column,
    filled,
    score_column,
    score_under,
)
from bnnbench.reports.judge.comparisons import score_points
from bnnbench.reports.judge.table import Column, Entry, Row, Table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style import labels
from bnnbench.reports.style.families import NO_NETWORKS, family_of


def condition_table(
    benchmark: Benchmark, condition: str, methods: Sequence[str], minor: bool = False
) -> Table:
    """Return methods by metrics under one test condition; the first condition also shows costs.

    With `minor`, the table has the metrics that are otherwise omitted.
    """
    scored = {n for r in benchmark.records for n in r.outcome.scores.get(condition, {})}
    names = [name for name in ordered(scored) if labels.is_minor(name, scored) is minor]
    pairs = [
        filled(
            score_column(benchmark, name, condition),
            benchmark,
            methods,
            score_under(condition, name),
            score_points(benchmark, condition, name),
        )
        for name in names
    ]
    if condition == benchmark.main and not minor:
        costs = [r.cost for r in benchmark.records if r.cost]
        known = [name for name in COSTS if any(c.value(name) for c in costs)]
        pairs += [pair for name in known for pair in cost_columns(benchmark, name, methods)]
    title = f"{benchmark.title}, {benchmark.condition(condition)}"
    table = table_of(title, pairs, benchmark, methods, benchmark.origin_of(condition))
    return replace(table, unanswered=_unanswered(benchmark, condition, names))


def _unanswered(benchmark: Benchmark, condition: str, metrics: Sequence[str]) -> tuple[str, ...]:
    """Return the reasons why methods are not scored by a table's metrics, one per line.

    Methods with the same reason and metrics share a line.
    """
    blamed: dict[tuple[str, str], dict[str, None]] = {}
    for method, runs in benchmark.runs.items():
        for record in runs:
            reasons = record.outcome.unanswered.get(condition, {})
            for name in metrics:
                if name in reasons:
                    blamed.setdefault((method, reasons[name]), {})[labels.metric(name)] = None
    shared: dict[tuple[str, str], list[str]] = {}
    for (who, why), by in blamed.items():
        shared.setdefault((", ".join(by), why), []).append(who)
    return tuple(f"{', '.join(who)} by {by}: {why}" for (by, why), who in shared.items())


def diagnostics_table(benchmark: Benchmark, methods: Sequence[str]) -> Table:
    """Return methods by the diagnostics of their fits."""
    names = sorted({name for r in benchmark.records for name in r.outcome.diagnostics})
    pairs = [diagnostic_column(benchmark, name, methods) for name in names]
    return table_of(benchmark.title, pairs, benchmark, methods, benchmark.origin)


def overview(
    name: str, benchmarks: Sequence[Benchmark], tables: Sequence[Table], methods: Sequence[str]
) -> Table:
    """Return methods by data sets for one metric, taken from the tables of the data sets."""
    picked = []
    for benchmark, table in zip(benchmarks, tables, strict=True):
        at = [i for i, column in enumerate(table.columns) if column.name == name]
        if at:
            picked.append((benchmark, table, at[0]))
    first = picked[0][1].columns[picked[0][2]]
    columns = []
    for benchmark, table, i in picked:
        columns.append(replace(table.columns[i], heading=benchmark.title))
    rows = []
    for k, method in enumerate(methods):
        entries = [(table.rows[k], table.rows[k].cells[i]) for _, table, i in picked]
        runs, completed, asked = (
            sum(getattr(row, name) for row, _ in entries) for name in ("runs", "completed", "asked")
        )
        rows.append(Row(method, tuple(cell for _, cell in entries), runs, completed, asked))
    origins = {table.origin for _, table, _ in picked}
    origin = origins.pop() if len(origins) == 1 else "mixed"
    rounds = {benchmark.condition(benchmark.main) for benchmark, _, _ in picked if benchmark.rounds}
    after = f", {min(rounds)}" if rounds and first.kind == "score" else ""
    unsteady = dict.fromkeys(line for _, table, _ in picked for line in table.unsteady)
    elsewhere = dict.fromkeys(line for _, table, _ in picked for line in table.elsewhere)
    in_process = dict.fromkeys(m for _, table, _ in picked for m in table.in_process)
    shortened = dict.fromkeys(line for _, table, _ in picked for line in table.shortened)
    title = first.heading + after
    twice = dict.fromkeys(m for _, table, _ in picked for m in table.rows_counted_twice)
    runs_of_all = {m: runs for benchmark, *_ in picked for m, runs in benchmark.runs.items()}
    lines = {
        "yardsticks": yardstick_lines(runs_of_all, methods),
        "unsteady": tuple(unsteady),
        "rows_counted_twice": tuple(twice),
        "elsewhere": tuple(elsewhere),
        "in_process": tuple(in_process),
        "shortened": tuple(shortened),
    }
    return Table(title, tuple(columns), tuple(rows), origin, **lines)


def table_of(
    title: str,
    pairs: Sequence[tuple[Column, Sequence[Entry]]],
    benchmark: Benchmark,
    methods: Sequence[str],
    origin: str,
) -> Table:
    """Return methods by columns, each with its entries; cost columns come last."""
    networks = benchmark.own_networks
    rows, asked = [], len({(r.fold, r.seed) for r in benchmark.records})
    for k, method in enumerate(methods):
        runs = benchmark.runs.get(method, ())
        completed = sum(r.outcome.status == "completed" for r in runs)
        rows.append(Row(method, tuple(cells[k] for _, cells in pairs), len(runs), completed, asked))
    columns = tuple(column for column, _ in pairs)
    own_networks = tuple(f"{m} ({networks[m]})" for m in methods if m in networks)
    return Table(
        title,
        columns,
        tuple(rows),
        origin,
        own_networks,
        yardstick_lines(benchmark.runs, methods),
        unsteady_lines(benchmark),
        tuple(m for m in methods if counts_rows_twice(benchmark.runs.get(m, ()))),
        elsewhere_lines(benchmark),
        in_process=tuple(m for m in methods if shared_process(benchmark.runs.get(m, ()))),
        shortened=shortened_lines(benchmark),
    )


def yardstick_lines(
    runs: Mapping[str, Sequence[Record]], methods: Sequence[str]
) -> tuple[str, ...]:
    """Return a line for each family that is no network, with its methods."""
    lines = []
    for family in NO_NETWORKS:
        of_family = [
            method
            for method in methods
            if runs.get(method) and family_of(runs[method][0].run.get("method")) == family
        ]
        lines += [f"{labels.sentence(family)}: {', '.join(of_family)}"] if of_family else []
    return tuple(lines)


def shortened_lines(benchmark: Benchmark) -> tuple[str, ...]:
    """Return what was cut from the suite of the newest run, if anything was."""
    circumstances = [record.circumstances.provenance for record in benchmark.records]
    newest = max(circumstances, key=lambda one: str(one.get("finished", "")), default={})
    line = str(newest.get("shortened", ""))
    return (line,) if line else ()


def shared_process(runs: Sequence[Record]) -> bool:
    """Return whether any run had a process that third-party methods shared (`--in-process`)."""
    return any(run.circumstances.provenance.get("in_process") for run in runs)


def counts_rows_twice(runs: Sequence[Record]) -> bool:
    """Return whether any run says that its prior is computed from the rows that it is fitted to."""
    return any(run.outcome.diagnostics.get("prior_rows_shared", 0.0) > 0 for run in runs)


def elsewhere_lines(benchmark: Benchmark) -> tuple[str, ...]:
    """Return a line for each method of another program: submitter, date, code and cost."""
    lines = []
    for method, runs in benchmark.runs.items():
        said: dict[tuple[str, ...], set[str]] = {}
        for record in runs:
            if (known := record.external) is not None:
                parts = tuple(str(known.get(name, "")) for name in ("by", "code", "cost"))
                said.setdefault(parts, set()).add(
                    str(record.circumstances.provenance.get("finished", ""))[:10]
                )
        for (by, code, cost), days in said.items():
            when = " to ".join(sorted({min(days), max(days)}))
            stated = [f"{name}: {text}" for name, text in (("code", code), ("cost", cost)) if text]
            lines.append(", ".join([f"{method}, by {by or 'unknown'} on {when}", *stated]))
    return tuple(lines)


def unsteady_lines(benchmark: Benchmark) -> tuple[str, ...]:
    """Return a line for each method whose predictions of a row depend on its batch."""
    conditions: dict[tuple[str, str], dict[str, None]] = {}
    for method, runs in benchmark.runs.items():
        for record in runs:
            for condition, reason in record.outcome.batch_dependence.items():
                conditions.setdefault((method, reason), {})[benchmark.condition(condition)] = None
    return tuple(
        f"{method}: {reason} ({', '.join(names)})" for (method, reason), names in conditions.items()
    )


def ordered(names: set[str]) -> list[str]:
    """Return metric names in the order of `LISTED`; unknown ones last."""
    known = [name for name in LISTED if name in names]
    return known + sorted(names - set(known))
