"""Score against cost in time or memory, with the Pareto front of the methods."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bnnbench.reports.figures.canvas import FAINT, INK, OWN, Drawing, drawing
from bnnbench.reports.figures.methods import best_first, shared, tag
from bnnbench.reports.figures.ticks import logarithmic
from bnnbench.reports.style.palette import Style


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


def draw(
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
    with drawing(2.0, left=0.52) as figure:
        axes = figure.subplots()
        axes.grid(True, color=FAINT, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
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
        listed = "; ".join(f"{m} {p.cost:.3g}, {p.score:.3f}" for m, p in plotted.items())
        description = f"{up} against {across} on {where}: {listed}. Front: {'; '.join(best)}."
        order = best_first({m: p.score for m, p in plotted.items()})
        drawn = shared(figure, identifier, description, styles, order)
        return drawn.under(where, f"Front: {'; '.join(best)}")
