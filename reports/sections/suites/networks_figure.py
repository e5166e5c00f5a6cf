"""One method's predictions over a single input by several networks, in adjacent panels."""

from collections.abc import Sequence
from dataclasses import dataclass

from bnnbench.engine.store.data_points.curves import Curve
from bnnbench.reports.figures.canvas import INK, Drawing, dots, drawing, svg
from bnnbench.reports.sections.fits_figure import DEVIATIONS, Band
from bnnbench.reports.style.palette import Style

PANEL, LEFT, HEIGHT = 1.55, 0.46, 1.75
"""Sizes in inches."""


@dataclass(frozen=True)
class Panel:
    """A method's prediction with one network; without a band if there is none."""

    title: str
    band: Band | None
    note: str
    """A score, or the reason for a missing band."""


def draw(
    method: str,
    curve: Curve,
    panels: Sequence[Panel],
    style: Style,
    identifier: str,
    ylim: tuple[float, float],
) -> Drawing:
    """Return a row of panels over the same points, with the true function."""
    x = curve.test_inputs
    with drawing(HEIGHT, LEFT, LEFT + PANEL * len(panels), top=0.36) as figure:
        row = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
        figure.subplots_adjust(wspace=0.08)
        listed = []
        for axes, panel in zip(row, panels, strict=True):
            if curve.truth is not None:
                axes.plot(x, curve.truth, color=INK, linewidth=0.7, zorder=3)
            dots(axes, curve.train_inputs, curve.train_targets, 1.8, alpha=0.8, zorder=1)
            if panel.band is not None:
                axes.fill_between(x, *panel.band.ends, color=style.colour, alpha=0.25, linewidth=0)
                axes.plot(x, panel.band.mean, color=style.colour, linewidth=1.1, zorder=2)
            axes.set_title(f"{panel.title}\n{panel.note}", fontsize=7.5, color=INK, linespacing=1.3)
            axes.set(xlabel="x", xlim=(x.min(), x.max()), ylim=ylim)
            axes.locator_params(axis="both", nbins=5)
            listed.append(f"{panel.title}: {panel.note}")
        row[0].set_ylabel("y")
        description = (
            f"{method}: predictive mean and ± {DEVIATIONS} standard deviations over "
            f"{len(curve.train_inputs)} training points. {'; '.join(listed)}."
        )
        return Drawing(svg(figure, identifier, description), method)
