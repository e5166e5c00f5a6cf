"""Axes and their labels."""

import math
from collections.abc import Callable, Sequence
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

STEPS = ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 5, 7), (1, 1.5, 2, 3, 4, 5, 7))
"""Choices of ticks within a power of ten, from few to many."""


MOST, CHARACTERS = 5, 20
"""Maximum number of tick labels, and of characters in all labels of a horizontal axis; beyond
them, every second label is dropped."""


def logarithmic(
    axes: Axes,
    values: Sequence[float],
    which: Literal["x", "y"] = "x",
    text_of: Callable[[float], str] = "{:g}".format,
) -> None:
    """Make an axis logarithmic; it spans the positive values and a factor of 4 or more.

    Ticks are the powers of ten and, if these are fewer than three, steps between them; `text_of`
    formats their labels.
    """
    if not values:
        axes.set(**{f"{which}scale": "log"})
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
    while len(ticks) > 2 and _is_crowded([text_of(tick) for tick in ticks], which):
        ticks = ticks[::2]
    axis = axes.xaxis if which == "x" else axes.yaxis
    axes.set(**{f"{which}lim": (low, high)})  # first, or the scale would set its own limits
    axes.set(**{f"{which}scale": "log"})
    axis.set_ticks(ticks, minor=False)
    axis.set_ticks([], minor=True)
    axis.set_major_formatter(FuncFormatter(lambda value, _: text_of(value)))


def _is_crowded(labels: Sequence[str], which: Literal["x", "y"]) -> bool:
    return len(labels) > MOST or (which == "x" and sum(map(len, labels)) > CHARACTERS)
