"""Held-out scores of a search's trials against each setting, side by side."""

from collections.abc import Sequence

import numpy as np

from bnnbench.reports.figures.canvas import INK, Drawing, dots, drawing, svg
from bnnbench.reports.judge.summaries.sensitivity import LENGTH, Sensitivity
from bnnbench.reports.style.palette import Style

PANEL, LEFT, HEIGHT = 1.5, 0.56, 1.5
"""Sizes in inches."""

PANELS = 6
"""Figures have at least the width of so many panels, so that all of a page have one scale."""

DEEPEST = 0.25
"""The vertical axis reaches down to this quantile of the finite deficits of a figure."""


def draw(
    method: str, settings: Sequence[Sensitivity], style: Style, identifier: str, where: str
) -> Drawing:
    """Return a row of panels, one for each setting, with a common vertical axis.

    Dots are the trials of all folds, the line is the best trial nearby, averaged over folds.
    """
    finite = np.concatenate([one.deficits[np.isfinite(one.deficits)] for one in settings])
    lowest = min(float(np.quantile(finite, DEEPEST)), -1e-3)
    columns = max(PANELS, len(settings))
    with drawing(HEIGHT, LEFT, LEFT + PANEL * columns, top=0.24) as figure:
        grid = figure.add_gridspec(1, columns, wspace=0.16)
        row = [figure.add_subplot(grid[0])]
        row += [figure.add_subplot(grid[k], sharey=row[0]) for k in range(1, len(settings))]
        for axes, one in zip(row, settings, strict=True):
            shown = np.isfinite(one.deficits) & (one.deficits >= lowest)
            dots(axes, one.places[shown], one.deficits[shown], 1.6, alpha=0.5, zorder=1)
            x, y = line(one)
            axes.plot(x, y, color=style.colour, linewidth=1.3, zorder=2)
            axes.set(xlim=(-0.04, 1.04), ylim=(1.06 * lowest, -0.06 * lowest))
            axes.set_xticks([one.places[0].min(), one.places[0].max()])
            left, right = axes.set_xticklabels(one.ends, fontsize=7)
            left.set_horizontalalignment("left")
            right.set_horizontalalignment("right")
            axes.set_title(one.setting.replace("_", " "), fontsize=8, color=INK)
            axes.locator_params(axis="y", nbins=4)
            axes.label_outer()
        row[0].set_ylabel("nats less than best")
        listed = "; ".join(f"{one.setting.replace('_', ' ')} {_trend(one)}" for one in settings)
        description = f"{method} on {where}, held-out scores over each setting: {listed}."
        return Drawing(svg(figure, identifier, description), f"{method}, {where}")


def line(one: Sensitivity) -> tuple[np.ndarray, np.ndarray]:
    """Return abscissae and ordinates of the line: steps over a law, points over lengths."""
    if one.setting == LENGTH:
        means = one.deficits.mean(0)
        return one.places[0], np.where(np.isfinite(means), means, np.nan)
    heights = one.envelope()
    edges = np.linspace(0, 1, len(heights) + 1)
    return np.repeat(edges, 2)[1:-1], np.repeat(heights, 2)


def _trend(one: Sensitivity) -> str:
    heights = line(one)[1]
    if not np.isfinite(heights).any():
        return "diverged in some fold everywhere"
    first, last = (f"{h:.2g}" if np.isfinite(h) else "diverged" for h in (heights[0], heights[-1]))
    return f"from {first} at {one.ends[0]} to {last} at {one.ends[1]}"
