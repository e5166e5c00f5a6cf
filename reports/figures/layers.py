"""An error of propagated moments against the depth of the network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bnnbench.reports.figures.canvas import FAINT, INK, OWN, Drawing, drawing
from bnnbench.reports.figures.methods import best_first, gid, shared
from bnnbench.reports.style import labels
from bnnbench.reports.style.palette import Style

CROWDED = 8
"""With more layers than this, ticks show only the kind of a layer."""

NARROW = 2.2
"""An axis extends at least by this factor below and above its middle, to fit several ticks."""


@dataclass(frozen=True)
class Errors:
    """One error of several methods after every layer; None if unknown."""

    metric: str
    ours: Mapping[str, Sequence[float]]
    printed: Mapping[str, Sequence[float | None]]
    floor: float | None
    """The error of exact moments with this number of samples."""


def draw_layers(
    errors: Errors,
    kinds: Sequence[str],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
) -> Drawing:
    """Return a line for each method and hollow marks at printed values, errors logarithmic."""
    name, depth = labels.metric(errors.metric), np.arange(1, len(kinds) + 1)
    with drawing(2.0, left=0.52) as figure:
        axes = figure.subplots()
        axes.grid(True, axis="y", color=FAINT, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
        level = 1.0 if errors.metric == "eps_sigma" else errors.floor
        if level:
            axes.axhline(level, color=INK, linewidth=0.8, dashes=(1, 2))
        listed = []
        for method, values in errors.ours.items():
            style = styles[method]
            axes.plot(depth, values, color=OWN, dashes=style.dash or (None, None), linewidth=1.3,
                      marker=style.marker, markersize=2.8, gid=gid(method))  # fmt: skip
            listed.append(f"{method} from {values[0]:.3g} to {values[-1]:.3g}")
        for method, printed in errors.printed.items():
            axes.plot(depth, np.array(printed, float), color=OWN, linestyle="",
                      marker=styles[method].marker, markersize=5, markerfacecolor="none",
                      markeredgewidth=0.9, clip_on=False, gid=gid(method))  # fmt: skip
        axes.set(xlabel="layer", ylabel=name, xlim=(0.6, len(kinds) + 0.4))
        crowded = len(kinds) > CROWDED
        ticks = [kind if crowded else f"{d} {kind}" for d, kind in zip(depth, kinds, strict=True)]
        axes.set_xticks(depth, ticks, fontsize=7)
        _logarithmic(axes)
        description = f"{name} by layer on {where}: {'; '.join(listed)}."
        caption = "marks: printed" if errors.printed else ""
        exact = 1.0 if errors.metric == "eps_sigma" else 0.0
        order = best_first({m: abs(values[-1] - exact) for m, values in errors.ours.items()})
        drawn = shared(figure, identifier, description, styles, order)
        return drawn.under(f"{name}, {where}", caption)


def _logarithmic(axes: Axes) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    middle = (low * high) ** 0.5
    low, high = min(low, middle / NARROW), max(high, middle * NARROW)
    axes.set_ylim(low, high)
    steps = (1, 2, 5) if high / low < 100 else (1,)
    axes.yaxis.set_major_locator(LogLocator(subs=steps))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
