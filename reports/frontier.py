"""Quality against what it costs: seconds to fit, seconds to predict, memory."""

from collections.abc import Mapping

from reports import labels
from reports.figures import cost
from reports.figures.canvas import Drawing
from reports.figures.cost import Point
from reports.palette import Style
from reports.table import Cell, Table

SCORES = ("nll", "rmse", "wasserstein2")
"""The score that is set against costs: the first that a data set has; lower is better."""

COSTS = {
    "fit_seconds": "seconds to fit",
    "predict_seconds": "seconds to predict",
    "peak_bytes": "memory to fit, MiB",
}


def cost_drawings(
    table: Table, styles: Mapping[str, Style], identifier: str, where: str
) -> list[Drawing]:
    """Return a figure for each cost that is known; `table` is of clean data."""
    columns = {column.name: i for i, column in enumerate(table.columns)}
    score = next((name for name in SCORES if name in columns), None)
    if score is None:
        return []
    up = labels.metric(score)
    drawings = []
    for name, across in COSTS.items():
        points = _points(table, columns, name, score) if name in columns else {}
        if any(point.is_shown for point in points.values()):
            drawings.append(cost.draw(points, styles, f"{identifier}-{name}", where, (across, up)))
    return drawings


def _points(table: Table, columns: Mapping[str, int], name: str, score: str) -> dict[str, Point]:
    scale = table.columns[columns[name]].scale
    found = {}
    for row in table.rows:
        spent, scored = (row.cells[columns[n]] for n in (name, score))
        if isinstance(spent, Cell) and isinstance(scored, Cell):
            found[row.method] = Point(scale * spent.mean, scored.mean, scored.standard_error)
    return found
