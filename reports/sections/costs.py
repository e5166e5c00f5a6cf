"""Quality against cost: seconds to fit, seconds to predict, memory, energy."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bnnbench.reports.figures.canvas import INK, OWN, Drawing, gridded
from bnnbench.reports.figures.limits import bound
from bnnbench.reports.figures.methods import best_first, shared, tag
from bnnbench.reports.figures.ticks import logarithmic
from bnnbench.reports.judge.summaries.costs import load_in_words
from bnnbench.reports.judge.table import Cell, Row, Table
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.devices import elsewhere_in_words
from bnnbench.reports.read.exclusions import is_constant
from bnnbench.reports.sections.base import Material, Section, figures, figures_alone
from bnnbench.reports.style import labels
from bnnbench.reports.style.palette import Style

SCORES = ("nll", "rmse", "wasserstein2")
"""Scores to plot against costs; the first one available on a data set is used; lower is better."""

COSTS = {
    "fit_seconds": "seconds to fit",
    "fit_cpu_seconds": "processor seconds to fit",
    "predict_seconds": "seconds to predict",
    "peak_bytes": "memory to fit, MiB",
    "fit_joules": "energy to fit, kJ",
}


@dataclass(frozen=True)
class Point:
    """A method's mean cost, and its mean score with the score's standard error."""

    cost: float
    score: float
    error: float | None

    @property
    def is_shown(self) -> bool:
        """True if both values can be drawn; a logarithmic axis cannot show 0."""
        return math.isfinite(self.score) and 0 < self.cost < math.inf


def sections(material: Material) -> Iterator[Section]:
    """Yield the figures of scores against costs."""
    drawings = []
    pairs = zip(material.figure_places("cost"), material.main_tables, strict=True)
    for (benchmark, name, where), table in pairs:
        drawings += cost_drawings(benchmark, table, material.styles, name, where)
    about = (
        "Lower left is better: a smaller error for less time or memory. The dashed line joins "
        "the methods that no other method beats in both. Methods that do not train are left out. "
        "Error bars are one standard error."
    )
    elsewhere = dict.fromkeys(elsewhere_in_words(b.records) for b in material.benchmarks)
    about = " ".join(filter(None, [about, load_in_words(material.benchmarks), *elsewhere]))
    yield from figures_alone(figures("Cost against quality", about, drawings))


def cost_drawings(
    benchmark: Benchmark,
    table: Table,
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
) -> list[Drawing]:
    """Return a figure for each known cost; `table` has the scores on clean data.

    Methods that do not train are left out: they cost nothing and lie far from all others. Seconds
    are those of the device on which most fits were timed (`timed_elsewhere`).
    """
    columns = {column.name: i for i, column in enumerate(table.columns)}
    score = next((name for name in SCORES if name in columns), None)
    if score is None:
        return []
    rows = [row for row in table.rows if not is_constant(benchmark.runs.get(row.method, ()))]
    up = labels.metric(score)
    drawings = []
    for name, across in COSTS.items():
        if name not in columns or (name == "fit_seconds" and _all_have(rows, columns)):
            continue
        places = columns[name], columns[score]
        points = _points(rows, places, table.columns[places[0]].scale)
        if any(point.is_shown for point in points.values()):
            drawings.append(draw_costs(points, styles, f"{identifier}-{name}", where, (across, up)))
    return drawings


def _all_have(rows: Sequence[Row], columns: Mapping[str, int]) -> bool:
    """Return whether the processor seconds of all fits are known."""
    place = columns.get("fit_cpu_seconds")
    return place is not None and all(isinstance(row.cells[place], Cell) for row in rows)


def _points(rows: Sequence[Row], places: tuple[int, int], scale: float) -> dict[str, Point]:
    """Return method → its scaled cost and its score, read from these two places of the rows."""
    points = {}
    for row in rows:
        spent, scored = (row.cells[place] for place in places)
        if isinstance(spent, Cell) and isinstance(scored, Cell):
            points[row.method] = Point(scale * spent.mean, scored.mean, scored.standard_error)
    return points


def front(points: Mapping[str, Point]) -> list[str]:
    """Return the Pareto front: methods not dominated in both numbers by any other.

    Lower is better; the cheapest methods come first. Equal points are all on the front.
    """
    places = {method: (point.cost, point.score) for method, point in points.items()}
    best: list[str] = []
    for method in sorted(places, key=places.__getitem__):
        last = places[best[-1]] if best else (math.inf, math.inf)
        if places[method][1] < last[1] or places[method] == last:
            best.append(method)
    return best


def draw_costs(
    points: Mapping[str, Point],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
    names: tuple[str, str],
) -> Drawing:
    """Return a scatter plot of score against logarithmic cost, with the front.

    `names` are the labels of cost and score.
    """
    across, up = names
    plotted = {method: point for method, point in points.items() if point.is_shown}
    best = front(plotted)
    with gridded() as (figure, axes):
        axes.step([plotted[m].cost for m in best], [plotted[m].score for m in best], where="post",
                  color=INK, linewidth=0.8, dashes=(2, 2), zorder=1)  # fmt: skip
        for method, point in plotted.items():
            style = styles[method]
            bars = axes.errorbar(point.cost, point.score, yerr=point.error, elinewidth=1,
                                 color=OWN, marker=style.marker, markersize=5.5)  # fmt: skip
            tag(method, *bars.get_children())
        axes.set(xlabel=across, ylabel=up)
        axes.margins(0.12)
        axes.locator_params(axis="y", nbins=5)
        logarithmic(axes, [p.cost for p in plotted.values()])
        scores = {method: point.score for method, point in plotted.items()}
        far = bound(axes, scores, [p.score + (p.error or 0.0) for p in plotted.values()], False)
        listed = "; ".join(f"{m} {p.cost:.3g}, {p.score:.3f}" for m, p in plotted.items())
        description = f"{up} against {across} on {where}: {listed}. Front: {'; '.join(best)}."
        drawn = shared(figure, identifier, description, styles, best_first(scores))
        return drawn.under(where, f"Front: {'; '.join(best)}{'. ' * bool(far)}{far}")
