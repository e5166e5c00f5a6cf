"""Tables without test rows that have a twin in training, from runs on deduplicated folds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from bnnbench.reports.judge.table import Column, Entry, Row, Table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.health import twin_counts

Identity = tuple[str, ...]
Address = tuple[Identity, str, str, str]
"""Benchmark, kind, name and condition of a column."""


@dataclass(frozen=True)
class Deduplicated:
    """A table in which columns of sets with twins are replaced by the deduplicated sets'."""

    table: Table
    note: str
    counts_runs: bool
    """True if the numbers of runs count the runs on deduplicated sets."""


@dataclass(frozen=True)
class Twins:
    """The deduplicated counterparts of data sets whose test rows have twins in training."""

    counterparts: Mapping[Identity, Benchmark]
    counts: Mapping[Identity, str]
    """Identity of a benchmark → its test rows with a twin, as text."""
    columns: Mapping[Address, tuple[Column, Mapping[str, Entry]]]
    """Column → the entries of the methods."""
    rows: Mapping[Identity, Mapping[str, Row]]
    """Identity of a counterpart → method → its row, for the numbers of runs."""

    def without(self, table: Table) -> Deduplicated | None:
        """Return the table without twins; None if no column has a counterpart."""
        pairs = [self._replaced(table, i) for i in range(len(table.columns))]
        replaced = {c.benchmark: self.counterparts[c.benchmark]
                    for c, pair in zip(table.columns, pairs, strict=True) if pair}  # fmt: skip
        if not replaced:
            return None
        columns, cells = [], []
        for i, pair in enumerate(pairs):
            columns.append(pair[0] if pair else table.columns[i])
            cells.append(pair[1] if pair else [row.cells[i] for row in table.rows])
        rows = [
            replace(row, cells=tuple(entries[k] for entries in cells))
            for k, row in enumerate(table.rows)
        ]
        counts_runs = len(replaced) == 1 and table.benchmark in replaced
        if counts_runs:
            counted = self.rows.get(replaced[table.benchmark].identity, {})
            rows = [_with_counts(row, counted.get(row.owner)) for row in rows]
        sets = "; ".join(
            f"{benchmark.title} of profile {benchmark.profile} ({self.counts[identity]})"
            for identity, benchmark in replaced.items()
        )
        note = (
            "Fits and scores on folds in which every row occurs once, instead of folds whose test "
            f"rows have twins in training: {sets}."
        )
        shown = replace(table, columns=tuple(columns), rows=tuple(rows), unsteady=(), unanswered=())
        return Deduplicated(shown, note, counts_runs)

    def _replaced(self, table: Table, i: int) -> tuple[Column, list[Entry]] | None:
        column = table.columns[i]
        twin = self.columns.get((column.benchmark, column.kind, column.name, column.condition))
        if twin is None:
            return None
        new, entries = twin
        listed = [entries.get(row.owner, "no run") for row in table.rows]
        return replace(new, heading=column.heading), listed


def twins_of(benchmarks: Sequence[Benchmark], tables: Iterable[Table]) -> Twins:
    """Return the counterparts among the benchmarks of a page, with the columns of its tables."""
    counterparts = {b.identity: other for b in benchmarks if (other := _counterpart(b, benchmarks))}
    originals: dict[Identity, list[Identity]] = {}
    for identity, other in counterparts.items():
        originals.setdefault(other.identity, []).append(identity)
    columns: dict[Address, tuple[Column, Mapping[str, Entry]]] = {}
    rows: dict[Identity, Mapping[str, Row]] = {}
    for table in tables:
        if table.benchmark in originals:
            rows.setdefault(table.benchmark, {row.owner: row for row in table.rows})
        for i, column in enumerate(table.columns):
            entries = {row.owner: row.cells[i] for row in table.rows}
            for identity in originals.get(column.benchmark, ()):
                address = identity, column.kind, column.name, column.condition
                columns.setdefault(address, (column, entries))
    counts = {
        b.identity: twin_counts([r.circumstances.facts for r in b.records]) for b in benchmarks
    }
    return Twins(counterparts, counts, columns, rows)


def _counterpart(benchmark: Benchmark, others: Sequence[Benchmark]) -> Benchmark | None:
    """Return the benchmark on the same folds without repeated rows, if rows are repeated."""
    if not twin_counts([record.circumstances.facts for record in benchmark.records]):
        return None
    source, network = _setting(benchmark)
    for other in others:
        cut, same_network = _setting(other)
        if (
            isinstance(cut, Mapping)
            and cut.get("type") == "deduplicated"
            and cut.get("source") == source
            and same_network == network
        ):
            return other
    return None


def _setting(benchmark: Benchmark) -> tuple[object, object]:
    """Return the source and the network of the suite's runs."""
    run = benchmark.records[0].run
    return run.get("source"), run.get("architecture")


def _with_counts(row: Row, counted: Row | None) -> Row:
    if counted is None:
        return replace(row, runs=0, completed=0, asked=0)
    return replace(row, runs=counted.runs, completed=counted.completed, asked=counted.asked)
