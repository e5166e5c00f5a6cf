"""All data sets in one table of methods by data sets, for each main score."""

from collections.abc import Iterator

from bnnbench.reports.judge.table import Table
from bnnbench.reports.sections.base import Block, Choice, Material, Section
from bnnbench.reports.sections.condition_tables import overview
from bnnbench.reports.style import labels

COLUMNS = (
    *("wasserstein2", "kl_from_reference"),
    *("balanced_accuracy", "accuracy", "nll", "rmse", "log_likelihood", "fit_seconds"),
)
"""Scores and costs shown for all data sets together."""


def sections(material: Material) -> Iterator[Section]:
    """Yield the overviews, if there are several data sets."""
    choices = tuple(map(_choice, overviews(material)))
    if choices:
        yield Section("All data sets", choices=choices)


def overviews(material: Material) -> list[Table]:
    """Return a table for each main score, if several data sets have any."""
    if len(material.benchmarks) < 2:
        return []
    names = {column.name for table in material.main_tables for column in table.columns}
    arguments = material.benchmarks, material.main_tables, material.methods
    return [overview(name, *arguments) for name in COLUMNS if name in names]


def _choice(table: Table) -> Choice:
    column = table.columns[0]
    heading = table.title + (", seconds" if column.kind == "cost" else "")
    return Choice((Block(table, heading),), "metric", labels.metric(column.name))
