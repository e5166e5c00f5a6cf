"""Distances of predictions to those of a reference, out of the tables of clean data."""

from collections.abc import Mapping

from bnnbench.reports.figures import distances
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.figures.distances import Distance
from bnnbench.reports.judge.table import Cell, Table
from bnnbench.reports.style.palette import Style

NAMES = ("wasserstein2", "kl_from_reference")


def distance_drawings(
    table: Table, styles: Mapping[str, Style], identifier: str, where: str
) -> list[Drawing]:
    """Return the figure of a data set, none where no distances to a reference were scored."""
    columns = {column.name: i for i, column in enumerate(table.columns)}
    if not all(name in columns for name in NAMES):
        return []
    found = {}
    for row in table.rows:
        first, second = (row.cells[columns[name]] for name in NAMES)
        if isinstance(first, Cell) and isinstance(second, Cell):
            errors = first.standard_error, second.standard_error
            found[row.method] = Distance(first.mean, second.mean, *errors)
    if not any(distance.is_shown for distance in found.values()):
        return []
    unit = table.columns[columns[NAMES[0]]].unit
    return [distances.draw(found, styles, identifier, where, unit)]
