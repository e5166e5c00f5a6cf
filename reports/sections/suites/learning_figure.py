"""Learning curves: a score after each acquisition."""

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.ticker import MaxNLocator

from bnnbench.reports.figures.canvas import FAINT, OWN, Drawing, drawing
from bnnbench.reports.figures.methods import best_first, gid, shared
from bnnbench.reports.style.palette import Style


def draw(
    curves: Mapping[str, np.ndarray],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
    axis: str,
    higher_is_better: bool,
) -> Drawing:
    """Return the mean of each method's curves (repeats x rounds), with its standard error."""
    with drawing(2.0, left=0.52) as figure:
        axes = figure.subplots()
        axes.grid(True, color=FAINT, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
        listed = []
        for method, values in curves.items():
            style, mean = styles[method], values.mean(0)
            rounds = np.arange(len(mean))
            if len(values) > 1:
                error = values.std(0, ddof=1) / math.sqrt(len(values))
                axes.fill_between(rounds, mean - error, mean + error, color=OWN, alpha=0.16,
                                  linewidth=0, gid=gid(method, "band"))  # fmt: skip
            axes.plot(rounds, mean, color=OWN, dashes=style.dash or (None, None),
                      linewidth=1.3, gid=gid(method))  # fmt: skip
            listed.append(f"{method} from {mean[0]:.3g} to {mean[-1]:.3g}")
        axes.set(
            xlabel="acquisitions",
            ylabel=axis,
            xlim=(0, max(len(c[0]) for c in curves.values()) - 1),
        )
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.locator_params(axis="y", nbins=5)
        description = f"{axis} after each acquisition on {where}: {'; '.join(listed)}."
        final = {method: float(values.mean(0)[-1]) for method, values in curves.items()}
        order = best_first(final, higher_is_better)
        return shared(figure, identifier, description, styles, order).under(where)
