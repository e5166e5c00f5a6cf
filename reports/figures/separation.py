"""Separation of out-of-distribution from test data by entropy: histograms and ROC curves."""

from collections.abc import Mapping

import numpy as np

from bnnbench.reports.figures.canvas import FAINT, INK, OWN, Drawing, diagonal, drawing, svg
from bnnbench.reports.figures.evidence import ENTROPY_BINS, FALSE_POSITIVE_RATES, Separation
from bnnbench.reports.figures.methods import best_first, gid, shared
from bnnbench.reports.style.palette import Style


def draw_histogram(
    method: str, pooled: Separation, style: Style, identifier: str, where: str, top: float
) -> Drawing:
    """Return histograms of a method's entropy on test data (outlined) and other data (filled).

    `top` is the axis height that methods share, so that they can be compared.
    """
    edges = np.linspace(0, np.log(pooled.classes), ENTROPY_BINS + 1)
    inside, outside = densities(pooled)
    with drawing(1.75) as figure:
        axes = figure.subplots()
        axes.stairs(100 * outside, edges, fill=True, color=style.colour, alpha=0.45)
        axes.stairs(100 * inside, edges, color=INK, linewidth=1.2)
        axes.set(xlabel="entropy, nats", ylabel="points, %", xlim=(0, edges[-1]))
        axes.set_ylim(0, 100 * top * 1.05)
        axes.locator_params(axis="both", nbins=4)
        description = (
            f"Entropy of {method}, {where}: mean about {_mean(inside, edges):.2f} nats on test "
            f"data and {_mean(outside, edges):.2f} nats out of distribution."
        )
        return Drawing(svg(figure, identifier, description), method)


def draw_roc(
    curves: Mapping[str, Separation], styles: Mapping[str, Style], identifier: str, where: str
) -> Drawing:
    """Return one ROC curve per method: the mean over runs at each false positive rate."""
    with drawing(2.14) as figure:
        axes = figure.subplots()
        diagonal(axes)
        areas = {}
        for method, pooled in curves.items():
            style = styles[method]
            areas[method] = float(np.trapezoid(pooled.roc, FALSE_POSITIVE_RATES))
            axes.plot(FALSE_POSITIVE_RATES, pooled.roc, color=OWN, gid=gid(method),
                      dashes=style.dash or (None, None))  # fmt: skip
        axes.set(xlabel="test data flagged", ylabel="other data flagged", aspect="equal")
        axes.axhline(1, color=FAINT, linewidth=0.8, zorder=0)
        listed = "; ".join(f"{method} {area:.3f}" for method, area in areas.items())
        description = f"ROC curves of predictive entropy, {where}. Areas: {listed}."
        order = best_first(areas, higher_is_better=True)
        return shared(figure, identifier, description, styles, order).under("ROC of entropy")


def densities(pooled: Separation) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of points in each entropy bin, on test data and on other data."""
    inside, outside = (h / max(1.0, h.sum()) for h in (pooled.inside, pooled.outside))
    return inside, outside


def _mean(shares: np.ndarray, edges: np.ndarray) -> float:
    return float((shares * (edges[:-1] + edges[1:]) / 2).sum())
