"""The tables of one data set: every condition, every metric, the fits' diagnostics."""

from collections.abc import Sequence
from dataclasses import dataclass

from bnnbench.reports.judge.table import Table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.condition_tables import condition_table, diagnostics_table
from bnnbench.reports.sections.suites.sizes import Family, part_tables, size_tables, sized_families


@dataclass(frozen=True)
class DatasetTables:
    """One data set: a table per condition, the folded metrics, the fits' diagnostics."""

    benchmark: Benchmark
    tables: tuple[Table, ...]
    minor: tuple[Table, ...]
    diagnostics: Table
    sized: tuple[tuple[Family, tuple[Table, ...]], ...] = ()
    """Families of conditions that differ only in size, with a table for each metric."""
    minor_by_size: tuple[tuple[str, Table], ...] = ()
    """Condition and table of minor metrics, for the conditions of families."""
    parts: tuple[tuple[Family, tuple[Table, ...]], ...] = ()
    """Families that are summarised by a mean, with their tables."""
    part_tables: tuple[Table, ...] = ()
    """Tables of `parts` next to each other, one per metric."""

    @property
    def filled(self) -> tuple[Table, ...]:
        """The tables that have columns."""
        return tuple(table for table in self.tables if table.columns)

    @property
    def families(self) -> tuple[tuple[Family, tuple[Table, ...]], ...]:
        """All families with their tables."""
        return (*self.sized, *self.parts)

    @property
    def named_tables(self) -> list[tuple[str, Table]]:
        """Condition and table, without empty tables and conditions of families."""
        in_families = {c for family, _ in self.families for c in family.sizes}
        in_families -= {self.benchmark.main}
        return [(c, t) for c, t in self._with_conditions if c not in in_families]

    @property
    def tables_by_size(self) -> list[tuple[str, Table]]:
        """Condition and table for the conditions of families, including minor metrics.

        Parts of a mean are left out, because a page would have a hundred of them.
        """
        listed = {condition for condition, _ in self.named_tables}
        listed |= {condition for family, _ in self.parts for condition in family.sizes}
        others = [(c, t) for c, t in self._with_conditions if c not in listed]
        return others + list(self.minor_by_size)

    @property
    def _with_conditions(self) -> list[tuple[str, Table]]:
        conditions = self.benchmark.conditions
        return [(c, t) for c, t in zip(conditions, self.tables, strict=False) if t.columns]


def dataset_tables(benchmark: Benchmark, methods: Sequence[str]) -> DatasetTables:
    """Return the tables of a data set."""
    conditions = benchmark.conditions or ("clean",)
    sized = tuple((f, tuple(size_tables(f, methods))) for f in sized_families(benchmark))
    in_families = {c for family, _ in sized for c in family.sizes} - {benchmark.main}
    in_parts = {c for family, _ in sized if family.is_part for c in family.sizes}
    in_parts -= {benchmark.main}
    parts = tuple((family, tables) for family, tables in sized if family.is_part)
    minor = {
        c: condition_table(benchmark, c, methods, minor=True)
        for c in conditions
        if c not in in_parts
    }
    minor = {c: table for c, table in minor.items() if table.columns}
    return DatasetTables(
        benchmark,
        tuple(condition_table(benchmark, c, methods) for c in conditions),
        tuple(table for c, table in minor.items() if c not in in_families),
        diagnostics_table(benchmark, methods),
        tuple((family, tables) for family, tables in sized if not family.is_part),
        tuple((c, table) for c, table in minor.items() if c in in_families),
        parts,
        tuple(part_tables([family for family, _ in parts], methods)),
    )
