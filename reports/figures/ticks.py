"""Axes and their labels."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter


def logarithmic(axes: Axes, values: Sequence[float]) -> None:
    """Make the horizontal axis logarithmic, over a factor of 4 or more around positive values.

    It is labelled at 1, 2, 5 or at the powers of ten.
    """
    axes.set_xscale("log")
    if not values:
        return
    middle = math.log10(min(values)) / 2 + math.log10(max(values)) / 2
    half = max(math.log10(4), 1.25 * math.log10(max(values) / min(values))) / 2
    low, high = 10 ** (middle - half), 10 ** (middle + half)
    steps = (1, 2, 5) if half < 0.75 else (1,) if half > 1 else (1, 3)
    powers = range(math.floor(middle - half), math.ceil(middle + half) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    axes.set_xlim(low, high)
    axes.set_xticks([tick for tick in ticks if low <= tick <= high], minor=False)
    axes.set_xticks([], minor=True)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
