"""Coverage of a known function against the mass of the intervals, on both sides of the data."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from bnnbench.reports.figures.canvas import Drawing, diagonal, drawing, svg
from bnnbench.reports.style.palette import Style

DASHES = {"negative": (3, 2), "positive": (None, None)}
MARKERS = {"negative": "o", "positive": "s"}


def draw(
    method: str,
    mass: Float[np.ndarray, " masses"],
    coverage: Mapping[str, Float[np.ndarray, " masses"]],
    printed: Mapping[str, Sequence[tuple[float, float]]],
    style: Style,
    identifier: str,
    where: str,
    caption: str,
) -> Drawing:
    """Return a curve for each side, and hollow marks at printed pairs of mass and coverage."""
    with drawing(2.14) as figure:
        axes = figure.subplots()
        diagonal(axes)
        for side, values in coverage.items():
            axes.plot(mass, values, color=style.colour, linewidth=1.4, dashes=DASHES[side])
        for side, pairs in printed.items():
            for pair in pairs:
                axes.plot(*pair, color=style.colour, marker=MARKERS[side], markersize=4.5,
                          markerfacecolor="none", linestyle="", clip_on=False)  # fmt: skip
        axes.set(xlabel="mass of the interval", ylabel="coverage", aspect="equal")
        middle = int(np.abs(mass - 0.5).argmin())
        listed = "; ".join(f"{side} x {values[middle]:.2f}" for side, values in coverage.items())
        description = (
            f"Coverage of the true function by {method} on {where} against the mass of the "
            f"intervals. At mass {mass[middle]:.2f}: {listed}."
        )
        return Drawing(svg(figure, identifier, description), method, caption)
