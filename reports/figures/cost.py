"""What quality costs: a score against time or memory, and which methods none beats in both."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bnnbench.reports.figures.canvas import FAINT, INK, Drawing, drawing, svg
from bnnbench.reports.figures.ticks import logarithmic
from bnnbench.reports.style.palette import Style


@dataclass(frozen=True)
class Point:
    """A method's mean cost and mean score, with its standard error."""

    cost: float
    score: float
    error: float | None

    @property
    def is_shown(self) -> bool:
        """Whether both have a place on the axes: a logarithmic one has none for 0."""
        return math.isfinite(self.score) and 0 < self.cost < math.inf


def front(points: Mapping[str, Point]) -> list[str]:
    """Return the methods that no other beats in cost or score without loss in the other.

    Lower is better; the cheapest come first. Of equal points all are on the front.
    """
    places = {method: (point.cost, point.score) for method, point in points.items()}
    found: list[str] = []
    for method in sorted(places, key=places.__getitem__):
        last = places[found[-1]] if found else (math.inf, math.inf)
        if places[method][1] < last[1] or places[method] == last:
            found.append(method)
    return found


def draw(
    points: Mapping[str, Point],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
    names: tuple[str, str],
) -> Drawing:
    """Return a scatter of the methods with both numbers, costs logarithmic, and their front.

    `names` are those of cost and score.
    """
    across, up = names
    shown = {method: point for method, point in points.items() if point.is_shown}
    best = front(shown)
    with drawing(2.0, left=0.52) as figure:
        axes = figure.subplots()
        axes.grid(True, color=FAINT, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
        axes.step([shown[m].cost for m in best], [shown[m].score for m in best], where="post",
                  color=INK, linewidth=0.8, dashes=(2, 2), zorder=1)  # fmt: skip
        for method, point in shown.items():
            style = styles[method]
            axes.errorbar(point.cost, point.score, yerr=point.error, elinewidth=1,
                          color=style.colour, marker=style.marker, markersize=5.5)  # fmt: skip
        axes.set(xlabel=across, ylabel=up)
        axes.margins(0.12)
        axes.locator_params(axis="y", nbins=5)
        logarithmic(axes, [p.cost for p in shown.values()])
        listed = "; ".join(f"{m} {p.cost:.3g}, {p.score:.3f}" for m, p in shown.items())
        said = f"{up} against {across} on {where}: {listed}. Front: {'; '.join(best)}."
        return Drawing(svg(figure, identifier, said), where, f"Front: {'; '.join(best)}")
