"""Observed against expected frequencies of regression targets below predictive quantiles."""

from collections.abc import Mapping

import numpy as np

from bnnbench.reports.figures.canvas import Drawing, diagonal, drawing, svg
from bnnbench.reports.figures.evidence import levels
from bnnbench.reports.style.palette import Style


def draw(
    curves: Mapping[str, np.ndarray], styles: Mapping[str, Style], identifier: str, where: str
) -> Drawing:
    """Return one calibration curve per method, given as observed shares at `levels()`."""
    expected = levels()
    with drawing(2.14) as figure:
        axes = figure.subplots()
        diagonal(axes)
        farthest = []
        for method, observed in curves.items():
            style = styles[method]
            axes.plot(expected, observed, color=style.colour, marker=style.marker, markersize=2.6,
                      linewidth=1.3, dashes=style.dash or (None, None))  # fmt: skip
            farthest.append(f"{method} {np.abs(observed - expected).max():.2f}")
        axes.set(xlabel="expected share", ylabel="observed share", aspect="equal")
        description = (
            f"Calibration of predictive quantiles on {where}. Largest distance between observed "
            f"and expected share: {'; '.join(farthest)}."
        )
        return Drawing(svg(figure, identifier, description), where)
