"""A score against the size of a perturbation of the test inputs."""

import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from bnnbench.reports.figures.canvas import FAINT, OWN, Drawing, drawing
from bnnbench.reports.figures.methods import best_first, gid, shared
from bnnbench.reports.style.palette import Style


def draw(
    curves: Mapping[str, Float[np.ndarray, "_ sizes"]],
    sizes: Float[np.ndarray, " sizes"],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
    axes_names: tuple[str, str],
    higher_is_better: bool,
) -> Drawing:
    """Return the mean of each method's runs with its standard error; gaps at missing values."""
    across, up = axes_names
    with drawing(2.0, left=0.52) as figure:
        axes = figure.subplots()
        axes.grid(True, color=FAINT, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
        listed, average = [], {}
        for method, values in curves.items():
            style = styles[method]
            finite = np.where(np.isfinite(values), values, np.nan)
            mean = finite.mean(0)
            if len(values) > 1:
                error = finite.std(0, ddof=1) / math.sqrt(len(values))
                axes.fill_between(sizes, mean - error, mean + error, color=OWN, alpha=0.16,
                                  linewidth=0, gid=gid(method, "band"))  # fmt: skip
            axes.plot(sizes, mean, color=OWN, dashes=style.dash or (None, None), linewidth=1.3,
                      marker=style.marker, markersize=2.8, gid=gid(method))  # fmt: skip
            average[method] = float(mean.mean())
            listed.append(f"{method} from {mean[0]:.3g} to {mean[-1]:.3g}")
        axes.set(xlabel=across, ylabel=up)
        axes.margins(x=0.02)
        axes.locator_params(axis="both", nbins=5)
        description = f"{up} against {across} on {where}: {'; '.join(listed)}."
        order = best_first(average, higher_is_better)
        return shared(figure, identifier, description, styles, order).under(up)
