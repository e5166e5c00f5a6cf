"""Limits of an axis that a few outliers cannot stretch; the outliers are named at its edge."""

import math
from collections.abc import Iterable, Mapping

import numpy as np
from matplotlib.axes import Axes

from bnnbench.reports.figures.canvas import FAINT, OWN
from bnnbench.reports.figures.labels import SIZE, cut
from bnnbench.reports.figures.methods import gid
from bnnbench.reports.style.numbers import significant

FENCE = 3.0
"""Interquartile ranges beyond the nearer quartile from which a value is far out."""
FILLED = 1 / 3
"""Values far out are cut if the others would fill less than this share of the axis."""
FEWEST = 4
MOST_NAMED = 3
"""Maximum number of outliers named inside a figure; its caption names all."""
MARGIN, LINE = 0.1, 0.085
"""Shares of the axis: free space at the ends, and the height of a line of text."""


def robust_limits(values: Iterable[float], higher_is_better: bool) -> tuple[float, float]:
    """Return the range of the finite values, without values far out at the worse end.

    Values are far out by Tukey's outer fence, 3 interquartile ranges beyond the quartile. They are
    cut only if the axis would otherwise be mostly empty; the best values are always in the range.
    Returns (0, 1) without finite values.

    Source: Tukey (1977), "Exploratory Data Analysis".
    """
    finite = np.sort([value for value in values if math.isfinite(value)])
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite[0]), float(finite[-1])
    if len(finite) < FEWEST:
        return low, high
    first = float(np.quantile(finite, 0.25, method="higher"))
    third = float(np.quantile(finite, 0.75, method="lower"))
    reach = FENCE * (third - first)
    near = finite[finite >= first - reach] if higher_is_better else finite[finite <= third + reach]
    few = reach > 0 and near[-1] - near[0] < FILLED * (high - low)
    return (float(near[0]), float(near[-1])) if few else (low, high)


def beyond(
    middles: Mapping[str, float], limits: tuple[float, float], higher_is_better: bool
) -> dict[str, float]:
    """Return method → value for the methods beyond the worse end, the farthest first."""
    sign = -1.0 if higher_is_better else 1.0
    edge = sign * limits[0 if higher_is_better else 1]
    far = {m: v for m, v in middles.items() if math.isfinite(v) and sign * v > edge}
    return dict(sorted(far.items(), key=lambda item: -sign * item[1]))


def in_words(far: Mapping[str, float]) -> str:
    """Return a sentence that names the methods beyond an axis; "" if there is none."""
    listed = ", ".join(f"{method} {significant(value)}" for method, value in far.items())
    return f"Beyond the edge: {listed}." if far else ""


def bound(
    axes: Axes, middles: Mapping[str, float], ends: Iterable[float], higher_is_better: bool
) -> str:
    """Limit the vertical axis of scores or costs, name the outliers at the edge, and in a sentence.

    `middles` has each method's mean, or the worst value of its curve; `ends` are the worse ends of
    all error bars. The axis stays as it is, and the sentence is "", if nothing is far out.
    """
    finite = [end for end in (*ends, *middles.values()) if math.isfinite(end)]
    limits = robust_limits(finite, higher_is_better)
    if not finite or limits == (min(finite), max(finite)):
        return ""
    far = beyond(middles, limits, higher_is_better)
    best = axes.dataLim.y1 if higher_is_better else axes.dataLim.y0
    _cut(axes, best, limits[0 if higher_is_better else 1], min(len(far), MOST_NAMED))
    for line, (method, value) in enumerate(list(far.items())[:MOST_NAMED]):
        at = 0.02 + LINE * line if higher_is_better else 0.98 - LINE * line
        text = f"{cut(method)} {significant(value)}"
        axes.text(0.99, at, text, color=OWN, fontsize=SIZE, gid=gid(method, "label"), zorder=5,
                  ha="right", va="bottom" if higher_is_better else "top",
                  transform=axes.transAxes)  # fmt: skip
    return in_words(far)


def _cut(axes: Axes, best: float, worst: float, lines: int) -> None:
    """Let an axis reach from the best to the worst value, and a band beyond it hold the names."""
    whole = (worst - best) * (1 + 2 * MARGIN) / (1 - LINE * lines)
    start = best - MARGIN * (worst - best)
    axes.set_ylim(*sorted((start, start + whole)))
    if lines:
        edge = worst + MARGIN * (worst - best)
        axes.axhline(edge, color=FAINT, linewidth=0.8, dashes=(1.5, 1.5), zorder=0)
