"""What quality costs: a score against the seconds of fitting."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

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
        _seconds_axis(axes, [p.seconds for p in shown.values()])
        listed = "; ".join(f"{m} {p.seconds:.3g} s, {p.score:.3f}" for m, p in shown.items())
        said = f"{axis} against seconds to fit on {where}: {listed}."
        return Drawing(svg(figure, identifier, said), where)


def _seconds_axis(axes: Axes, seconds: Sequence[float]) -> None:
    """Label 1, 2, 5 or the powers of ten of a logarithmic axis that spans a factor of 4."""
    if not seconds:
        return
    middle = math.log10(min(seconds)) / 2 + math.log10(max(seconds)) / 2
    half = max(math.log10(4), 1.25 * math.log10(max(seconds) / min(seconds))) / 2
    low, high = 10 ** (middle - half), 10 ** (middle + half)
    steps = (1, 2, 5) if half < 0.75 else (1,) if half > 1 else (1, 3)
    powers = range(math.floor(middle - half), math.ceil(middle + half) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    axes.set_xlim(low, high)
    axes.set_xticks([tick for tick in ticks if low <= tick <= high], minor=False)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
