"""Axes and their labels."""

import math
from collections.abc import Sequence
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

STEPS = ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 5, 7), (1, 1.5, 2, 3, 4, 5, 7))
"""Within a power of ten, from few labels to many."""


def logarithmic(axes: Axes, values: Sequence[float], which: Literal["x", "y"] = "x") -> None:
    """Make an axis logarithmic, over a factor of 4 or more around positive values.

    It is labelled at the powers of ten and, where these are fewer than three, at steps between.
    """
    axes.set(**{f"{which}scale": "log"})
    if not values:
        return
    middle = math.log10(min(values)) / 2 + math.log10(max(values)) / 2
    half = max(math.log10(4), 1.25 * math.log10(max(values) / min(values))) / 2
    low, high = 10 ** (middle - half), 10 ** (middle + half)
    powers = range(math.floor(middle - half), math.ceil(middle + half) + 1)
    ticks: list[float] = []
    for steps in STEPS:
        every = (step * 10.0**power for power in powers for step in steps)
        ticks = [tick for tick in every if low <= tick <= high]
        if len(ticks) >= 3:
            break
    axis = axes.xaxis if which == "x" else axes.yaxis
    axes.set(**{f"{which}lim": (low, high)})
    axis.set_ticks(ticks, minor=False)
    axis.set_ticks([], minor=True)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
