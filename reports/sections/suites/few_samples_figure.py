"""An error against the number of draws, both logarithmic."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from bnnbench.reports.figures.canvas import FAINT, OWN, Drawing, drawing
from bnnbench.reports.figures.methods import best_first, gid, shared
from bnnbench.reports.figures.ticks import logarithmic
from bnnbench.reports.style.palette import Style


def draw(
    curves: Mapping[str, Float[np.ndarray, "_ counts"]],
    counts: Sequence[int],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
    axis: str,
) -> Drawing:
    """Return the mean of each method's repeats, with its standard error."""
    with drawing(2.0, left=0.52) as figure:
        axes = figure.subplots()
        axes.grid(True, color=FAINT, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
        listed, means = [], []
        for method, values in curves.items():
            style, mean = styles[method], values.mean(0)
            if len(values) > 1:
                error = values.std(0, ddof=1) / math.sqrt(len(values))
                least = 1e-3 * mean  # a logarithmic axis cannot show 0
                axes.fill_between(counts, np.maximum(mean - error, least), mean + error,
                                  color=OWN, alpha=0.2, linewidth=0,
                                  gid=gid(method, "band"))  # fmt: skip
            axes.plot(counts, mean, color=OWN, dashes=style.dash or (None, None), linewidth=1.3,
                      marker=style.marker, markersize=2.8, gid=gid(method))  # fmt: skip
            means += [float(value) for value in mean if value > 0]
            listed.append(f"{method} from {mean[0]:.3g} to {mean[-1]:.3g}")
        axes.set(xlabel="draws", ylabel=axis)
        logarithmic(axes, counts)
        logarithmic(axes, means, "y")
        axes.set_xlim(counts[0] / 1.15, counts[-1] * 1.15)
        description = f"{axis} against the number of draws on {where}: {'; '.join(listed)}."
        order = best_first({m: float(values.mean(0)[-1]) for m, values in curves.items()})
        drawn = shared(figure, identifier, description, styles, order)
        return drawn.under(f"{axis}, {where}")
