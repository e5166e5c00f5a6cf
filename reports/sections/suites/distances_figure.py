"""Distances of each posterior's predictions from those of a reference, such as HMC."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bnnbench.reports.figures.canvas import FAINT, OWN, Drawing, drawing
from bnnbench.reports.figures.methods import shared, tag
from bnnbench.reports.figures.ticks import logarithmic
from bnnbench.reports.style.palette import Style


@dataclass(frozen=True)
class Distance:
    """A method's mean distances to the reference, with standard errors."""

    wasserstein: float
    divergence: float
    """Kullback-Leibler divergence from the reference, in nats."""
    wasserstein_error: float | None = None
    divergence_error: float | None = None

    @property
    def is_shown(self) -> bool:
        """True if both can be drawn on logarithmic axes."""
        return all(0 < value < math.inf for value in (self.wasserstein, self.divergence))


def draw(
    distances: Mapping[str, Distance],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
    unit: str,
) -> Drawing:
    """Return a scatter plot of the methods; the lower left is near the reference."""
    plotted = {method: d for method, d in distances.items() if d.is_shown}
    with drawing(2.14, left=0.52) as figure:
        axes = figure.subplots()
        axes.grid(True, color=FAINT, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
        for method, d in plotted.items():
            style = styles[method]
            across = _bar(d.wasserstein, d.wasserstein_error)
            up = _bar(d.divergence, d.divergence_error)
            bars = axes.errorbar(d.wasserstein, d.divergence, up, across, elinewidth=1,
                                 color=OWN, marker=style.marker, markersize=5.5)  # fmt: skip
            tag(method, *bars.get_children())
        axes.set(xlabel=f"W2, {unit}" if unit else "W2", ylabel="KL, nats")
        logarithmic(axes, [d.wasserstein for d in plotted.values()])
        logarithmic(axes, [d.divergence for d in plotted.values()], "y")
        ordered = sorted(plotted, key=lambda method: plotted[method].wasserstein)
        listed = "; ".join(
            f"{m} W2 {plotted[m].wasserstein:.3g}, KL {plotted[m].divergence:.3g}" for m in ordered
        )
        description = f"Distance to the reference on {where}, the nearest first: {listed}."
        return shared(figure, identifier, description, styles, ordered).under(where)


def _bar(value: float, error: float | None) -> list[list[float]] | None:
    """Return the lengths of an error bar below and above; it ends at 1 % of the value or higher."""
    return None if error is None else [[min(error, 0.99 * value)], [error]]
