"""Mean curves of methods: a score against draws, acquisitions, sizes or trials."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bnnbench.reports.figures.canvas import OWN, Drawing, gridded
from bnnbench.reports.figures.limits import bound
from bnnbench.reports.figures.methods import best_first, gid, shared
from bnnbench.reports.figures.ticks import logarithmic
from bnnbench.reports.judge.summaries.tuning import band
from bnnbench.reports.style.palette import Style

Styles = Mapping[str, Style]
Curves = Mapping[str, Float[np.ndarray, "_ _"]]
"""method → repeats x points"""


def draw_few_samples(
    curves: Curves,
    counts: Sequence[int],
    styles: Styles,
    identifier: str,
    where: str,
    axis: str,
) -> Drawing:
    """Return an error against the number of draws, both logarithmic."""
    with gridded() as (figure, axes):
        means = {method: values.mean(0) for method, values in curves.items()}
        for method, values in curves.items():
            least = 1e-3 * means[method]  # a logarithmic axis cannot show 0
            _error_band(axes, counts, values, method, alpha=0.2, least=least)
            _line(axes, counts, means[method], method, styles[method], marked=True)
        axes.set(xlabel="draws", ylabel=axis)
        logarithmic(axes, counts)
        logarithmic(axes, [float(v) for mean in means.values() for v in mean if v > 0], "y")
        axes.set_xlim(counts[0] / 1.15, counts[-1] * 1.15)
        description = f"{axis} against the number of draws on {where}: {_listed(means)}."
        drawn = shared(figure, identifier, description, styles, best_first(_final(means)))
        return drawn.under(f"{axis}, {where}")


def draw_learning(
    curves: Curves,
    styles: Styles,
    identifier: str,
    where: str,
    axis: str,
    higher_is_better: bool,
) -> Drawing:
    """Return a score after each acquisition."""
    with gridded() as (figure, axes):
        means = {method: values.mean(0) for method, values in curves.items()}
        for method, values in curves.items():
            rounds = np.arange(len(means[method]))
            _error_band(axes, rounds, values, method)
            _line(axes, rounds, means[method], method, styles[method])
        last = max(map(len, means.values())) - 1
        axes.set(xlabel="acquisitions", ylabel=axis, xlim=(0, last))
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.locator_params(axis="y", nbins=5)
        far = bound(axes, _worst(means, higher_is_better), (), higher_is_better)
        description = f"{axis} after each acquisition on {where}: {_listed(means)}."
        order = best_first(_final(means), higher_is_better)
        return shared(figure, identifier, description, styles, order).under(where, far)


def draw_sizes(
    curves: Curves,
    sizes: Float[np.ndarray, " sizes"],
    styles: Styles,
    identifier: str,
    where: str,
    axes_names: tuple[str, str],
    higher_is_better: bool,
) -> Drawing:
    """Return a score against the size of a perturbation, with gaps at missing values."""
    across, up = axes_names
    with gridded() as (figure, axes):
        finite = {m: np.where(np.isfinite(values), values, np.nan) for m, values in curves.items()}
        means = {method: values.mean(0) for method, values in finite.items()}
        for method, values in finite.items():
            _error_band(axes, sizes, values, method)
            _line(axes, sizes, means[method], method, styles[method], marked=True)
        axes.set(xlabel=across, ylabel=up)
        axes.margins(x=0.02)
        axes.locator_params(axis="both", nbins=5)
        far = bound(axes, _worst(means, higher_is_better), (), higher_is_better)
        description = f"{up} against {across} on {where}: {_listed(means)}."
        average = {method: float(mean.mean()) for method, mean in means.items()}
        order = best_first(average, higher_is_better)
        return shared(figure, identifier, description, styles, order).under(up, far)


def draw_trials(
    curves: Mapping[str, tuple[Sequence[float], Float[np.ndarray, "_ _"]]],
    styles: Styles,
    identifier: str,
    where: str,
    names: tuple[str, str],
    higher_is_better: bool,
) -> Drawing:
    """Return the expected best of n trials, with the 90 % band of resampled folds.

    `curves` has abscissae and values of each method; one with a single trial is a horizontal line.
    `names` are the labels of the logarithmic abscissa and of the score.
    """
    across, up = names
    ends = [x for abscissae, _ in curves.values() for x in (abscissae[0], abscissae[-1])]
    with gridded() as (figure, axes):
        means = {method: values.mean(0) for method, (_, values) in curves.items()}
        for method, (abscissae, values) in curves.items():
            mean = means[method]
            if len(mean) == 1:
                abscissae, mean = [min(ends), max(ends)], np.repeat(mean, 2)
            elif len(values) > 1:
                _band(axes, abscissae, band(values), method, alpha=0.14)
            _line(axes, abscissae, mean, method, styles[method])
        axes.set_xscale("log", base=2)
        axes.set(xlabel=across, ylabel=up)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.locator_params(axis="y", nbins=5)
        far = bound(axes, _worst(means, higher_is_better), (), higher_is_better)
        description = f"{up} against {across} on {where}: {_listed(means)}."
        order = best_first(_final(means), higher_is_better)
        return shared(figure, identifier, description, styles, order).under(where, far)


def _error_band(
    axes: Axes,
    x: Any,
    values: np.ndarray,
    method: str,
    alpha: float = 0.16,
    least: float | np.ndarray = -math.inf,
) -> None:
    """Draw one standard error around the mean of several repeats, down to `least`."""
    if len(values) > 1:
        mean, error = values.mean(0), values.std(0, ddof=1) / math.sqrt(len(values))
        _band(axes, x, (np.maximum(mean - error, least), mean + error), method, alpha)


def _band(
    axes: Axes, x: Any, ends: tuple[np.ndarray, np.ndarray], method: str, alpha: float
) -> None:
    axes.fill_between(x, *ends, color=OWN, alpha=alpha, linewidth=0, gid=gid(method, "band"))


def _line(
    axes: Axes, x: Any, y: np.ndarray, method: str, style: Style, marked: bool = False
) -> None:
    marks: dict[str, Any] = {"marker": style.marker, "markersize": 2.8} if marked else {}
    dashes = style.dash or (None, None)
    axes.plot(x, y, color=OWN, dashes=dashes, linewidth=1.3, gid=gid(method), **marks)


def _listed(means: Mapping[str, np.ndarray]) -> str:
    return "; ".join(f"{m} from {mean[0]:.3g} to {mean[-1]:.3g}" for m, mean in means.items())


def _final(means: Mapping[str, np.ndarray]) -> dict[str, float]:
    return {method: float(mean[-1]) for method, mean in means.items()}


def _worst(means: Mapping[str, np.ndarray], higher_is_better: bool) -> dict[str, float]:
    """Return the worst value of each method's curve; NaN if it has none."""
    worst = np.fmin if higher_is_better else np.fmax
    return {method: float(worst.reduce(mean)) for method, mean in means.items()}
