"""Distances of predictions from a reference's, taken from the tables of clean data."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bnnbench.reports.figures.canvas import OWN, Drawing, gridded
from bnnbench.reports.figures.methods import shared, tag
from bnnbench.reports.figures.ticks import logarithmic
from bnnbench.reports.judge.table import Cell, Table
from bnnbench.reports.sections.base import Material, Section, figures, figures_alone
from bnnbench.reports.style.palette import Style

NAMES = ("wasserstein2", "kl_from_reference")


@dataclass(frozen=True)
class Distance:
    """A method's mean distances to the reference, with standard errors."""

    wasserstein: float
    divergence: float
    """Kullback-Leibler divergence from the reference, in nats."""
    wasserstein_error: float | None = None
    divergence_error: float | None = None

    @property
    def is_shown(self) -> bool:
        """True if both can be drawn on logarithmic axes."""
        return all(0 < value < math.inf for value in (self.wasserstein, self.divergence))


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
    return [draw_distances(distances_by_method, styles, identifier, where, unit)]


def draw_distances(
    distances: Mapping[str, Distance],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
    unit: str,
) -> Drawing:
    """Return a scatter plot of the methods; the lower left is near the reference."""
    plotted = {method: d for method, d in distances.items() if d.is_shown}
    with gridded(2.14) as (figure, axes):
        for method, d in plotted.items():
            style = styles[method]
            across = _bar(d.wasserstein, d.wasserstein_error)
            up = _bar(d.divergence, d.divergence_error)
            bars = axes.errorbar(d.wasserstein, d.divergence, up, across, elinewidth=1,
                                 color=OWN, marker=style.marker, markersize=5.5)  # fmt: skip
            tag(method, *bars.get_children())
        axes.set(xlabel=f"W2, {unit}" if unit else "W2", ylabel="KL, nats")
        logarithmic(axes, [d.wasserstein for d in plotted.values()])
        logarithmic(axes, [d.divergence for d in plotted.values()], "y")
        ordered = sorted(plotted, key=lambda method: plotted[method].wasserstein)
        listed = "; ".join(
            f"{m} W2 {plotted[m].wasserstein:.3g}, KL {plotted[m].divergence:.3g}" for m in ordered
        )
        description = f"Distance to the reference on {where}, the nearest first: {listed}."
        return shared(figure, identifier, description, styles, ordered).under(where)


def _bar(value: float, error: float | None) -> list[list[float]] | None:
    """Return the lengths of an error bar below and above; it ends at 1 % of the value or higher."""
    return None if error is None else [[min(error, 0.99 * value)], [error]]
