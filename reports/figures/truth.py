"""Methods compared with a certified posterior: ranks, bias and width, densities, value pairs."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from bnnbench.reports.figures.canvas import FAINT, INK, OWN, Drawing, dots, drawing
from bnnbench.reports.figures.methods import best_first, gid, shared, tag
from bnnbench.reports.figures.ticks import logarithmic
from bnnbench.reports.judge.statistics.rank_bars import Agreement, Place
from bnnbench.reports.read.predictions.truths import Rows
from bnnbench.reports.style.palette import Style

GRID = 200
"""Number of places at which a density is drawn."""
CLOUD = 100
"""Maximum number of draws of one method in a cloud."""

Styles = Mapping[str, Style]


def draw_truth_ranks(agreement: Agreement, styles: Styles, identifier: str, where: str) -> Drawing:
    """Return the rank by KL from the truth against the rank by log loss on the test rows."""
    with drawing(2.3) as figure:
        axes = figure.subplots()
        most = len(agreement.first)
        axes.plot([1, most], [1, most], color=FAINT, linewidth=1, zorder=0)
        for method, x in agreement.first.items():
            y, style = agreement.second[method], styles[method]
            bars = axes.errorbar(x.rank, y.rank, _bar(y), _bar(x), elinewidth=0.7, alpha=0.9,
                                 color=OWN, marker=style.marker, markersize=5)  # fmt: skip
            tag(method, *bars.get_children())
        axes.set(xlabel="rank by log loss", ylabel="rank by KL from the truth")
        rho = agreement.rho
        rho_text = f"Spearman's ρ {rho.rank:.2f} ({rho.low:.2f} to {rho.high:.2f})"
        listed = "; ".join(
            f"{m} {x.rank:g} and {agreement.second[m].rank:g}" for m, x in agreement.first.items()
        )
        description = (
            f"Ranks by log loss and by KL from the truth on {where}: {listed}. {rho_text}."
        )
        order = best_first({method: place.rank for method, place in agreement.second.items()})
        return shared(figure, identifier, description, styles, order).under(where, rho_text)


def draw_bias(
    places: Mapping[str, tuple[float, float]], styles: Styles, identifier: str, where: str
) -> Drawing:
    """Return mean error against std ratio, both in standard deviations of the truth."""
    shown = {m: place for m, place in places.items() if all(0 < v < np.inf for v in place)}
    with drawing(2.1, left=0.52) as figure:
        axes = figure.subplots()
        axes.grid(True, color=FAINT, linewidth=0.5, alpha=0.6)
        axes.axvline(1, color=INK, linewidth=0.9, dashes=(3, 2))
        for method, (ratio, error) in shown.items():
            axes.plot(ratio, error, styles[method].marker, color=OWN, markersize=5.5,
                      gid=gid(method))  # fmt: skip
        axes.set(xlabel="std ratio, overconfident below 1", ylabel="mean error")
        logarithmic(axes, [ratio for ratio, _ in shown.values()])
        axes.margins(0.12)
        listed = "; ".join(f"{m} {ratio:.2g}, {error:.2g}" for m, (ratio, error) in shown.items())
        description = f"Std ratio and mean error on {where}: {listed}."
        order = best_first({method: error for method, (_, error) in shown.items()})
        return shared(figure, identifier, description, styles, order).under(where)


def draw_density(
    functions: Float[ndarray, "draws rows"],
    rows: Mapping[str, Rows],
    row: int,
    styles: Styles,
    identifier: str,
    where: str,
) -> Drawing:
    """Return densities of the function at a test row: of the truth as an area, and of methods.

    Draws are smoothed by Silverman's rule; a single function is a line.
    """
    truth = functions[:, row]
    spread = truth.std()
    x = np.linspace(truth.mean() - 4 * spread, truth.mean() + 4 * spread, GRID)
    exact = _smoothed(truth, np.zeros_like(truth), x)
    with drawing(1.6, left=0.2) as figure:
        axes = figure.subplots()
        axes.fill_between(x, exact, color=INK, alpha=0.25, linewidth=0)
        top = 1.6 * exact.max()
        apart = {}
        for method, values in rows.items():
            means, variances = values.means[:, row], values.variances[:, row]
            if len(means) == 1 and not variances.any():
                apart[method] = np.inf
                axes.axvline(means[0], color=OWN, linewidth=1.1, gid=gid(method))
            else:
                drawn = _smoothed(means, variances, x)
                apart[method] = float(np.abs(drawn - exact).sum())
                axes.plot(x, drawn, color=OWN, linewidth=1.3, gid=gid(method),
                          dashes=styles[method].dash or (None, None))  # fmt: skip
        axes.set(xlabel="function value", xlim=(x[0], x[-1]), ylim=(0, top), yticks=[])
        axes.locator_params(axis="x", nbins=4)
        stated = [f"truth {truth.mean():.3g} ± {spread:.2g}"]
        stated += [
            f"{m} {v.means[:, row].mean():.3g} ± {_std(v, row):.2g}" for m, v in rows.items()
        ]
        heading = f"{where}, test row {row}"
        description = f"Densities of the function, {heading}: {'; '.join(stated)}."
        order = best_first(apart)
        return shared(figure, identifier, description, styles, order).under(heading)


def draw_cloud(
    truth: Float[ndarray, "draws rows"],
    rows: Mapping[str, Rows],
    pair: Sequence[int],
    styles: Styles,
    identifier: str,
    where: str,
) -> Drawing:
    """Return draws of the function at two test rows together, of the truth and of methods."""
    i, j = pair
    with drawing(2.1, left=0.52) as figure:
        axes = figure.subplots()
        for method, values in rows.items():
            drawn = values.means[:CLOUD]
            axes.plot(drawn[:, i], drawn[:, j], styles[method].marker, color=OWN, markersize=2.4,
                      markeredgewidth=0, alpha=0.7, gid=gid(method))  # fmt: skip
        axes.autoscale(False)
        (x0, x1), (y0, y1) = (_range(truth[:, k]) for k in pair)
        axes.set(xlim=(x0, x1), ylim=(y0, y1), xlabel=f"row {i}", ylabel=f"row {j}")
        dots(axes, truth[::4, i], truth[::4, j], 1.2, alpha=0.35, zorder=1)
        axes.locator_params(nbins=4)
        exact = np.corrcoef(truth[:, i], truth[:, j])[0, 1]
        correlations = {m: np.corrcoef(v.means[:, i], v.means[:, j])[0, 1] for m, v in rows.items()}
        stated = [f"truth {exact:.2f}", *(f"{m} {value:.2f}" for m, value in correlations.items())]
        heading = f"{where}, test rows {i} and {j}"
        description = f"Function values together, {heading}; correlations: {', '.join(stated)}."
        order = best_first({method: abs(value - exact) for method, value in correlations.items()})
        drawn = shared(figure, identifier, description, styles, order)
        return drawn.under(heading, "; ".join(stated))


def _bar(place: Place) -> list[list[float]]:
    return [[max(0.0, place.rank - place.low)], [max(0.0, place.high - place.rank)]]


def _std(values: Rows, row: int) -> float:
    means, variances = values.means[:, row], values.variances[:, row]
    return float((means.var() + variances.mean()) ** 0.5)


def _range(values: Float[ndarray, " draws"]) -> tuple[float, float]:
    low, high = np.percentile(values, (0.5, 99.5))
    return float(low - 0.4 * (high - low)), float(high + 0.4 * (high - low))


def _smoothed(
    means: Float[ndarray, " components"],
    variances: Float[ndarray, " components"],
    x: Float[ndarray, " places"],
) -> Float[ndarray, " places"]:
    """Return the density of a mixture of Gaussians, draws widened by Silverman's rule."""
    if not variances.any():
        width = 1.06 * max(means.std(), 1e-12) * len(means) ** -0.2
        variances = np.full_like(means, width**2)
    stds = np.sqrt(variances)[:, None]
    z = (x - means[:, None]) / stds
    return np.mean(np.exp(-z * z / 2) / (stds * np.sqrt(2 * np.pi)), 0)
