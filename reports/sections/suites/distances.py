"""Distances of predictions from a reference's, taken from the tables of clean data."""

from collections.abc import Iterator, Mapping

from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.judge.table import Cell, Table
from bnnbench.reports.sections.base import Material, Section, figures, figures_alone
from bnnbench.reports.sections.suites import distances_figure
from bnnbench.reports.sections.suites.distances_figure import Distance
from bnnbench.reports.style.palette import Style

NAMES = ("wasserstein2", "kl_from_reference")


def sections(material: Material) -> Iterator[Section]:
    """Yield the figures of distances to the predictions of a reference."""
    drawings = []
    pairs = zip(material.figure_places("distance"), material.main_tables, strict=True)
    for (_, name, where), table in pairs:
        drawings += distance_drawings(table, material.styles, name, where)
    about = (
        "The 2-Wasserstein distance and the Kullback-Leibler divergence to the reference's "
        "predictions, averaged over test inputs and runs. Methods at the lower left are nearer. "
        "Error bars are one standard error."
    )
    yield from figures_alone(figures("Distance to the reference", about, drawings))


def distance_drawings(
    table: Table, styles: Mapping[str, Style], identifier: str, where: str
) -> list[Drawing]:
    """Return the figure of a data set; empty if no distances to a reference were scored."""
    columns = {column.name: i for i, column in enumerate(table.columns)}
    if not all(name in columns for name in NAMES):
        return []
    distances_by_method = {}
    for row in table.rows:
        first, second = (row.cells[columns[name]] for name in NAMES)
        if isinstance(first, Cell) and isinstance(second, Cell):
            errors = first.standard_error, second.standard_error
            distances_by_method[row.method] = Distance(first.mean, second.mean, *errors)
    if not any(distance.is_shown for distance in distances_by_method.values()):
        return []
    unit = table.columns[columns[NAMES[0]]].unit
    return [distances_figure.draw(distances_by_method, styles, identifier, where, unit)]
