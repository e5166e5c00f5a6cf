"""What quality costs: a score against the seconds of fitting."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from reports.figures.canvas import FAINT, Drawing, drawing, svg
from reports.figures.ticks import logarithmic
from reports.palette import Style


@dataclass(frozen=True)
class Point:
    """A method's mean fit seconds and mean score, with its standard error."""

    seconds: float
    score: float
    error: float | None


def draw(
    points: Mapping[str, Point],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
    axis: str,
) -> Drawing:
    """Return a scatter of the methods whose cost and score are finite, seconds logarithmic."""
    shown = {m: p for m, p in points.items() if math.isfinite(p.score) and 0 < p.seconds < math.inf}
    with drawing(2.0, left=0.52) as figure:
        axes = figure.subplots()
        axes.grid(True, color=FAINT, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
        for method, point in shown.items():
            style = styles[method]
            axes.errorbar(point.seconds, point.score, yerr=point.error, elinewidth=1,
                          color=style.colour, marker=style.marker, markersize=5.5)  # fmt: skip
        axes.set(xlabel="seconds to fit", ylabel=axis)
        axes.margins(0.12)
        logarithmic(axes, [p.seconds for p in shown.values()])
        listed = "; ".join(f"{m} {p.seconds:.3g} s, {p.score:.3f}" for m, p in shown.items())
        said = f"{axis} against seconds to fit on {where}: {listed}."
        return Drawing(svg(figure, identifier, said), where)
