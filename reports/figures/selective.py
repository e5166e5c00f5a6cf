"""The errors that remain when the most uncertain predictions are rejected."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from bnnbench.reports.figures.canvas import FAINT, OWN, Drawing, drawing
from bnnbench.reports.figures.evidence import COVERAGES
from bnnbench.reports.figures.limits import bound
from bnnbench.reports.figures.methods import best_first, gid, shared
from bnnbench.reports.style.palette import Style


def draw(
    risks: Mapping[str, Float[np.ndarray, " coverages"]],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
) -> Drawing:
    """Return one curve per method: the error rate among accepted points at `COVERAGES`."""
    what = "Errors in percent among the most confident half and among all"
    return _drawn(risks, styles, identifier, where, "errors among them, %", what)


def draw_squared_errors(
    risks: Mapping[str, Float[np.ndarray, " coverages"]],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
) -> Drawing:
    """Return one curve per method: the mean squared error of accepted points at `COVERAGES`.

    It is divided by the error over all points, so that methods of any accuracy can be compared.
    """
    shares = {method: risk / risk[-1] for method, risk in risks.items() if risk[-1] > 0}
    what = "Squared error of the surest half and of all points, in percent of all points' error"
    return _drawn(shares, styles, identifier, where, "squared error, % of all", what)


def _drawn(
    risks: Mapping[str, np.ndarray],
    styles: Mapping[str, Style],
    identifier: str,
    where: str,
    label: str,
    what: str,
) -> Drawing:
    with drawing(2.0, left=0.46) as figure:
        axes = figure.subplots()
        axes.grid(True, color=FAINT, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
        listed = []
        half = int(np.argmin(np.abs(COVERAGES - 0.5)))
        for method, risk in risks.items():
            style = styles[method]
            axes.plot(100 * COVERAGES, 100 * risk, color=OWN, linewidth=1.3,
                      dashes=style.dash or (None, None), gid=gid(method))  # fmt: skip
            listed.append(f"{method} {100 * risk[half]:.3g} and {100 * risk[-1]:.3g}")
        axes.set(xlabel="accepted, %", ylabel=label, xlim=(0, 100))
        far = bound(axes, {m: 100 * float(risk.max()) for m, risk in risks.items()}, (), False)
        axes.set_ylim(bottom=0)
        axes.locator_params(axis="both", nbins=5)
        description = f"Risk against coverage on {where}. {what}: {'; '.join(listed)}."
        order = best_first({method: float(np.mean(risk)) for method, risk in risks.items()})
        return shared(figure, identifier, description, styles, order).under(where, far)
