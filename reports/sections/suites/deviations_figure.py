"""The outputs' deviation by propagated moments, divided by that of draws of the weights."""

from collections.abc import Mapping, Sequence

import numpy as np

from bnnbench.reports.figures.canvas import FAINT, INK, Drawing, dots, drawing, svg

LEFT, WIDTH, ROW = 1.56, 2.8, 0.17
"""Sizes in inches; one row per method."""


def draw(ratios: Mapping[str, Sequence[float]], identifier: str, where: str) -> Drawing:
    """Return a row of points per method, a point for each run, and a line at their mean."""
    with drawing(0.5 + ROW * len(ratios), LEFT, WIDTH) as figure:
        axes = figure.subplots()
        axes.axvline(1.0, color=FAINT, linewidth=1)
        listed = []
        for row, (method, values) in enumerate(ratios.items()):
            mean = float(np.mean(values))
            dots(axes, np.asarray(values), np.full(len(values), row), 2.4, alpha=0.35)
            axes.plot([mean, mean], [row - 0.35, row + 0.35], color=INK, linewidth=1.3)
            listed.append(f"{method} {mean:.2f}")
        axes.set_yticks(range(len(ratios)), list(ratios))
        axes.tick_params(axis="y", length=0)
        largest = max(1.0, *(value for values in ratios.values() for value in values))
        axes.set(
            xlabel="ratio of deviations",
            xlim=(0, 1.05 * largest),
            ylim=(len(ratios) - 0.5, -0.5),
        )
        axes.locator_params(axis="x", nbins=6)
        description = f"Ratio to the deviation of draws on {where}, means: {'; '.join(listed)}."
        return Drawing(svg(figure, identifier, description), where)
