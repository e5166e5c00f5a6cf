"""What quality costs: a score against the seconds of fitting."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from reports.figures.canvas import FAINT, Drawing, drawing, svg
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
        axes.set_xscale("log")
        axes.grid(True, color=FAINT, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
        for method, point in shown.items():
            style = styles[method]
            axes.errorbar(point.seconds, point.score, yerr=point.error, elinewidth=1,
                          color=style.colour, marker=style.marker, markersize=5.5)  # fmt: skip
        axes.set(xlabel="seconds to fit", ylabel=axis)
        axes.margins(0.12)
        _plain_ticks(axes, [p.seconds for p in shown.values()])
        listed = "; ".join(f"{m} {p.seconds:.3g} s, {p.score:.3f}" for m, p in shown.items())
        said = f"{axis} against seconds to fit on {where}: {listed}."
        return Drawing(svg(figure, identifier, said), where)


def _plain_ticks(axes, seconds: list[float]) -> None:
    """Label powers of ten, and 2 and 5 times them where the axis is short, as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    short = bool(seconds) and max(seconds) < 30 * min(seconds)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if short else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
