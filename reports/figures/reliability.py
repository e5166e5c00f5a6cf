"""Accuracy against confidence, with the share of predictions in each bin."""

import numpy as np

from bnnbench.metrics.bands import consistency_band
from bnnbench.reports.figures.canvas import FAINT, Drawing, diagonal, drawing, svg
from bnnbench.reports.figures.evidence import Reliability
from bnnbench.reports.style.palette import Style


def draw(
    method: str,
    pooled: Reliability,
    style: Style,
    identifier: str,
    where: str,
    distinct: float | None = None,
) -> Drawing:
    """Return the reliability diagram of a method, with the shares of predictions below.

    The band contains all bins of a calibrated method with `distinct` points at once; by default,
    `distinct` is the number of predictions.
    """
    full = pooled.count > 0
    count = pooled.count[full]
    confidence, accuracy = pooled.confidence[full] / count, pooled.hits[full] / count
    error = float((count * np.abs(accuracy - confidence)).sum() / count.sum())
    edges = np.linspace(0, 1, len(pooled.count) + 1)
    share = 1.0 if distinct is None else min(1.0, distinct / count.sum())
    low, high = consistency_band(confidence, share * count)
    outside = int(((accuracy < low) | (accuracy > high)).sum())
    with drawing(2.75) as figure:
        curve, bars = figure.subplots(2, 1, sharex=True, height_ratios=[3.4, 1])
        figure.align_ylabels([curve, bars])
        curve.bar(edges[:-1][full], high - low, width=np.diff(edges)[full], bottom=low,
                  align="edge", color=FAINT, alpha=0.55, linewidth=0, zorder=0)  # fmt: skip
        diagonal(curve)
        curve.vlines(confidence, confidence, accuracy, color=style.colour, alpha=0.35, lw=1.2)
        curve.plot(confidence, accuracy, color=style.colour, marker="o", markersize=3.2)
        curve.set_ylabel("accuracy")
        shares = 100 * pooled.count / pooled.count.sum()
        bars.bar(edges[:-1], shares, width=np.diff(edges), align="edge", color=style.colour,
                 alpha=0.75, linewidth=0)  # fmt: skip
        bars.set(xlabel="confidence", ylabel="points, %", ylim=(0, max(1.0, shares.max() * 1.1)))
        bars.yaxis.set_major_locator(_two_ticks(shares.max()))
        bars.axhline(0, color=FAINT, linewidth=0.8)
        description = (
            f"Reliability diagram of {method} on {where}: mean gap between confidence and "
            f"accuracy {error:.3f} over {count.sum():.0f} predictions of all runs together; "
            f"mean confidence {(count * confidence).sum() / count.sum():.3f}, "
            f"accuracy {(count * accuracy).sum() / count.sum():.3f}. "
            f"{outside} of {len(count)} bins lie outside the band of calibrated predictions."
        )
        caption = (
            f"{count.sum():,.0f} predictions of all runs, mean gap {error:.3f}; "
            f"{outside} of {len(count)} bins outside the band"
        )
        return Drawing(svg(figure, identifier, description), method, caption)


def _two_ticks(highest: float):
    from matplotlib.ticker import FixedLocator

    step = next((s for s in (1, 2, 5, 10, 20, 50) if s * 2 > highest), 50)
    return FixedLocator([0, step])
