"""How far each posterior's predictions are from those of a reference, such as HMC."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bnnbench.reports.figures.canvas import FAINT, Drawing, drawing, svg
from bnnbench.reports.figures.ticks import logarithmic
from bnnbench.reports.style.palette import Style


@dataclass(frozen=True)
class Distance:
    """A method's mean distances to the reference, with standard errors."""

    wasserstein: float
    divergence: float
    """Kullback-Leibler, from the reference, in nats."""
    wasserstein_error: float | None = None
    divergence_error: float | None = None

    @property
    def is_shown(self) -> bool:
        """Whether both have a place on logarithmic axes."""
        return all(0 < value < math.inf for value in (self.wasserstein, self.divergence))


def draw(
    distances: Mapping[str, Distance],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
    unit: str,
) -> Drawing:
    """Return a scatter of the methods; the lower left is near the reference."""
    shown = {method: d for method, d in distances.items() if d.is_shown}
    with drawing(2.14, left=0.52) as figure:
        axes = figure.subplots()
        axes.grid(True, color=FAINT, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
        for method, d in shown.items():
            style = styles[method]
            across = _bar(d.wasserstein, d.wasserstein_error)
            up = _bar(d.divergence, d.divergence_error)
            axes.errorbar(d.wasserstein, d.divergence, up, across, elinewidth=1,
                          color=style.colour, marker=style.marker, markersize=5.5)  # fmt: skip
        axes.set(xlabel=f"W2, {unit}" if unit else "W2", ylabel="KL, nats")
        logarithmic(axes, [d.wasserstein for d in shown.values()])
        logarithmic(axes, [d.divergence for d in shown.values()], "y")
        ordered = sorted(shown, key=lambda method: shown[method].wasserstein)
        said = "; ".join(
            f"{m} W2 {shown[m].wasserstein:.3g}, KL {shown[m].divergence:.3g}" for m in ordered
        )
        text = f"Distance to the reference on {where}, the nearest first: {said}."
        return Drawing(svg(figure, identifier, text), where)


def _bar(value: float, error: float | None) -> list[list[float]] | None:
    """Return how far an error bar reaches down and up; down to no less than a hundredth."""
    return None if error is None else [[min(error, 0.99 * value)], [error]]
