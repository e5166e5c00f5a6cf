"""The work of fits as counted by methods: the same on every machine."""

from collections.abc import Iterator

from bnnbench.methods.fitting.work import UNITS
from bnnbench.reports.judge.columns import filled, work_column
from bnnbench.reports.judge.table import Table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.base import Block, Choice, Material, Section, origin_to_show
from bnnbench.reports.sections.condition_tables import table_of
from bnnbench.reports.style import labels


def sections(material: Material) -> Iterator[Section]:
    """Yield a section with the work of a fit on every data set, if methods counted any."""
    tables = [(b, work_table(b, material.methods)) for b in material.benchmarks]
    blocks = [
        Block(table, benchmark.title, origin=origin_to_show(benchmark), folded=True)
        for benchmark, table in tables
        if table.columns
    ]
    if blocks:
        units = {column.name for block in blocks for column in block.table.columns}
        meanings = [f"{labels.metric(u)}: {UNITS[u]}." for u in UNITS if u in units]
        note = " ".join(["The work of a fit, independent of the machine.", *meanings])
        yield Section("Work of a fit", note, choices=(Choice(tuple(blocks)),), last=True)


def work_table(benchmark: Benchmark, methods: tuple[str, ...]) -> Table:
    """Return methods by the units of work that any of their fits counted."""
    counted = {
        unit
        for record in benchmark.records
        if record.cost and record.cost.work
        for unit, amount in record.cost.work.items()
        if amount
    }
    here = [method for method in methods if method in benchmark.runs]
    pairs = [
        filled(
            work_column(unit), benchmark, here, lambda r, unit=unit: r.cost and r.cost.value(unit)
        )
        for unit in UNITS
        if unit in counted
    ]
    title = f"{benchmark.title}, work of a fit"
    return table_of(title, pairs, benchmark, here, benchmark.origin)
