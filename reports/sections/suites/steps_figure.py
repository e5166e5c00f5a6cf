"""The effect of parallel schedules on quality: a score against the serial steps of a fit."""

from collections.abc import Mapping, Sequence

import numpy as np

from bnnbench.reports.figures.canvas import FAINT, OWN, Drawing, drawing
from bnnbench.reports.figures.methods import best_first, gid, shared
from bnnbench.reports.figures.ticks import logarithmic
from bnnbench.reports.style.palette import Style

Runs = Mapping[str, Sequence[tuple[float, float]]]
"""method → serial steps and finite score of each run"""


def draw(
    runs: Runs,
    levels: Mapping[str, Sequence[float]],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
    axis: str,
    higher_is_better: bool,
) -> Drawing:
    """Return a scatter plot of runs against the logarithm of their steps.

    `levels` are scores of methods that count no steps, drawn as a line at their mean.
    """
    with drawing(2.0, left=0.52) as figure:
        axes = figure.subplots()
        axes.grid(True, color=FAINT, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
        listed, average = [], {}
        for method, scores in levels.items():
            style, mean = styles[method], float(np.mean(scores))
            axes.axhline(mean, color=OWN, dashes=style.dash or (None, None), linewidth=1.3,
                         gid=gid(method))  # fmt: skip
            average[method] = mean
            listed.append(f"{method} {mean:.3f} at the line")
        for method, points in runs.items():
            style, (steps, scores) = styles[method], zip(*points, strict=True)
            axes.plot(steps, scores, style.marker, color=OWN, markersize=4.5,
                      markeredgewidth=0, alpha=0.75, gid=gid(method))  # fmt: skip
            average[method] = float(np.mean(scores))
            listed.append(f"{method} {np.mean(scores):.3f} at {np.mean(steps):,.0f}")
        axes.set(xlabel="serial steps of a fit", ylabel=axis)
        axes.margins(0.12)
        axes.locator_params(axis="y", nbins=5)
        logarithmic(axes, [steps for points in runs.values() for steps, _ in points])
        description = (
            f"{axis} against serial steps on {where}, means over runs: {'; '.join(listed)}."
        )
        order = best_first(average, higher_is_better)
        drawn = shared(figure, identifier, description, styles, order)
        return drawn.under(f"{axis}, {where}")
