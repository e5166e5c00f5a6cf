"""Observed against expected frequencies of regression targets below predictive quantiles."""

from collections.abc import Mapping

import numpy as np

from bnnbench.metrics.bands import consistency_band
from bnnbench.reports.figures.canvas import FAINT, OWN, Drawing, diagonal, drawing
from bnnbench.reports.figures.evidence import levels
from bnnbench.reports.figures.methods import best_first, gid, shared
from bnnbench.reports.style.palette import Style


def draw(
    curves: Mapping[str, np.ndarray],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
    distinct: float | None = None,
) -> Drawing:
    """Return one calibration curve per method, given as observed shares at `levels()`.

    The band contains the whole curve of a calibrated method with `distinct` points; it is omitted
    if their number is not given.
    """
    expected = levels()
    low, high = consistency_band(expected[1:-1], np.full(len(expected) - 2, float(distinct or 0)))
    with drawing(2.14) as figure:
        axes = figure.subplots()
        if distinct:
            axes.fill_between(expected, np.concatenate([[0], low, [1]]),
                              np.concatenate([[0], high, [1]]), color=FAINT, alpha=0.55,
                              linewidth=0, zorder=0)  # fmt: skip
        diagonal(axes)
        farthest, outside = {}, []
        for method, observed in curves.items():
            style = styles[method]
            axes.plot(expected, observed, color=OWN, marker=style.marker, markersize=2.6,
                      linewidth=1.3, dashes=style.dash or (None, None),
                      gid=gid(method))  # fmt: skip
            farthest[method] = float(np.abs(observed - expected).max())
            if ((observed[1:-1] < low) | (observed[1:-1] > high)).any():
                outside.append(method)
        axes.set(xlabel="expected share", ylabel="observed share", aspect="equal")
        listed = "; ".join(f"{method} {distance:.2f}" for method, distance in farthest.items())
        description = (
            f"Calibration of predictive quantiles on {where}. Largest distance between observed "
            f"and expected share: {listed}."
        )
        caption = ""
        if distinct:
            caption = f"{len(outside)} of {len(curves)} methods leave the band"
            description += f" Outside the band of calibrated predictions: {_listed(outside)}."
        drawn = shared(figure, identifier, description, styles, best_first(farthest))
        return drawn.under(where, caption)


def _listed(methods: list[str]) -> str:
    return ", ".join(methods) if methods else "none"
