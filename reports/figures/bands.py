"""Predictions over a single input: mean, band, training points and the true function."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bnnbench.engine.store.data_points import Curve
from bnnbench.reports.figures.canvas import INK, Drawing, dots, drawing, svg
from bnnbench.reports.style.palette import Style

DEVIATIONS = 3
"""Half the width of the bands, in predictive standard deviations."""


@dataclass(frozen=True)
class Band:
    """Predictive mean and standard deviation at each test input, in target units."""

    mean: Float[np.ndarray, " points"]
    std: Float[np.ndarray, " points"]

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper end at each input."""
        return self.mean - DEVIATIONS * self.std, self.mean + DEVIATIONS * self.std


def limits(curve: Curve, bands: Iterable[Band]) -> tuple[float, float]:
    """Return the vertical range that shows the points, the truth and these bands."""
    arrays = [curve.train_targets, *(end for band in bands for end in band.ends)]
    if curve.truth is not None:
        arrays.append(curve.truth)
    values = np.concatenate(arrays)
    values = values[np.isfinite(values)]
    margin = 0.04 * np.ptp(values)
    return float(values.min() - margin), float(values.max() + margin)


def draw_band(
    method: str,
    curve: Curve,
    band: Band,
    reference: Band | None,
    style: Style,
    identifier: str,
    where: str,
    ylim: tuple[float, float],
    caption: str,
) -> Drawing:
    """Return a method's band over the points; dashes bound the reference's band."""
    x = curve.test_inputs
    with drawing(1.9) as figure:
        axes = figure.subplots()
        axes.fill_between(x, *band.ends, color=style.colour, alpha=0.25, linewidth=0)
        if reference is not None:
            for end in reference.ends:
                axes.plot(x, end, color=INK, linewidth=0.9, dashes=(3, 2))
        if curve.truth is not None:
            axes.plot(x, curve.truth, color=INK, linewidth=0.9)
        axes.plot(x, band.mean, color=style.colour)
        dots(axes, curve.train_inputs, curve.train_targets, 3.2)
        axes.set(xlabel="x", ylabel="y", ylim=ylim)
        if x.min() < x.max():  # all rows may have the same input
            axes.set_xlim(x.min(), x.max())
        axes.locator_params(axis="both", nbins=5)
        description = (
            f"{method} on {where}: predictive mean and ± {DEVIATIONS} standard deviations over "
            f"{len(curve.train_inputs)} training points. Mean standard deviation "
            f"{band.std.mean():.3g}"
        )
        if reference is not None:
            description += f", of the reference {reference.std.mean():.3g}"
        return Drawing(svg(figure, identifier, f"{description}."), method, caption)
