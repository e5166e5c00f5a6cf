"""Curves of the expected best of n trials."""

from collections.abc import Mapping, Sequence

import numpy as np

from bnnbench.reports.figures.canvas import FAINT, OWN, Drawing, drawing
from bnnbench.reports.figures.methods import best_first, gid, shared
from bnnbench.reports.judge.summaries.tuning import band
from bnnbench.reports.style.palette import Style


def draw(
    curves: Mapping[str, tuple[Sequence[float], np.ndarray]],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
    names: tuple[str, str],
    higher_is_better: bool,
) -> Drawing:
    """Return each method's curve over its abscissae, with the 90 % band of resampled folds.

    A curve is `folds x trials`. A method with a single trial is a horizontal line. `names` are the
    labels of the logarithmic abscissa and of the score.
    """
    across, up = names
    ends = [x for abscissae, _ in curves.values() for x in (abscissae[0], abscissae[-1])]
    with drawing(2.0, left=0.52) as figure:
        axes = figure.subplots()
        axes.grid(True, color=FAINT, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
        listed = []
        for method, (abscissae, values) in curves.items():
            style, mean = styles[method], values.mean(0)
            pen = {"color": OWN, "dashes": style.dash or (None, None), "linewidth": 1.3}
            pen["gid"] = gid(method)
            if len(mean) == 1:
                axes.plot([min(ends), max(ends)], [mean[0]] * 2, **pen)
            else:
                if len(values) > 1:
                    low, high = band(values)
                    axes.fill_between(abscissae, low, high, color=OWN, alpha=0.14, linewidth=0,
                                      gid=gid(method, "band"))  # fmt: skip
                axes.plot(abscissae, mean, **pen)
            listed.append(f"{method} from {mean[0]:.3g} to {mean[-1]:.3g}")
        axes.set_xscale("log", base=2)
        axes.set(xlabel=across, ylabel=up)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.locator_params(axis="y", nbins=5)
        description = f"{up} against {across} on {where}: {'; '.join(listed)}."
        final = {m: float(values.mean(0)[-1]) for m, (_, values) in curves.items()}
        order = best_first(final, higher_is_better)
        return shared(figure, identifier, description, styles, order).under(where)
