"""Expectation propagation with whole rows as sites: each row's exact effect on all weights."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from numpy import ndarray

from bnnbench.methods.approximation_levels.gauss_legendre import nodes
from bnnbench.methods.approximation_levels.two_units import PARAMETERS, UNITS, TwoUnits
from bnnbench.methods.base import InferenceDiverged

Values = Float64[ndarray, " 7"]


@dataclass(frozen=True)
class Row:
    """The likelihood of one row."""

    x: float
    y: float
    noise_variance: float
    slope: float


def row_sites(model: TwoUnits, rounds: int, damping: float) -> tuple[Values, Values]:
    """Return mean and variance of every weight after some rounds over all rows.

    Raises `InferenceDiverged` if a cavity has no positive precision.
    """
    rho = 1 / model.prior_variance.numpy()
    tau = model.prior_mean.numpy() * rho
    rows = [
        Row(float(x), float(y), model.noise_variance, model.slope)
        for x, y in zip(model.x, model.y, strict=True)
    ]
    sites = np.zeros((len(rows), 2, PARAMETERS))
    marginal = np.stack([tau, rho])
    for _ in range(rounds):
        for n, row in enumerate(rows):
            cavity = marginal - sites[n]
            if not (cavity[1] > 0).all():
                raise InferenceDiverged("a row's cavity has no positive precision")
            mean, variance = tilted(row, cavity[0] / cavity[1], 1 / cavity[1])
            site = np.stack([mean / variance, 1 / variance]) - cavity
            moved = sites[n] + damping * (site - sites[n])
            marginal, sites[n] = cavity + moved, moved
    return marginal[0] / marginal[1], 1 / marginal[1]


def tilted(row: Row, mean: Values, variance: Values) -> tuple[Values, Values]:
    """Return the moments of all weights after the row, given independent Gaussians before it.

    Given both pre-activations, the rest is linear and Gaussian; these are integrated out
    numerically.
    """
    w, b, v, c = np.split(mean, np.cumsum([UNITS] * 3))
    s_w, s_b, s_v, s_c = np.split(variance, np.cumsum([UNITS] * 3))
    centre, spread = w * row.x + b, s_w * row.x**2 + s_b
    z, weights = nodes(centre, np.sqrt(spread))
    weights = weights * np.exp(-((z - centre[:, None]) ** 2) / (2 * spread[:, None]))
    a = np.maximum(z, row.slope * z)
    grid = [part.reshape(shape) for part, shape in zip(a, ((-1, 1), (1, -1)), strict=True)]
    predicted = v[0] * grid[0] + v[1] * grid[1] + c
    total = s_v[0] * grid[0] ** 2 + s_v[1] * grid[1] ** 2 + s_c + row.noise_variance
    error = row.y - predicted
    density = np.exp(-(error**2) / (2 * total)) / np.sqrt(total)
    density = weights[0][:, None] * weights[1] * density
    density /= density.sum()
    moments = [np.empty(PARAMETERS), np.empty(PARAMETERS)]

    def put(index: int, of_mean: ndarray, given: ndarray | float) -> None:
        """Store the moments of a weight with known conditional mean and variance."""
        first = (density * of_mean).sum()
        moments[0][index] = first
        moments[1][index] = (density * (given + (of_mean - first) ** 2)).sum()

    for unit in range(UNITS):
        marginal = density.sum(1 - unit)
        first = marginal @ z[unit]
        second = marginal @ (z[unit] - first) ** 2
        for index, factor in ((unit, row.x), (UNITS + unit, 1.0)):
            k = variance[index] * factor / spread[unit]
            moments[0][index] = mean[index] + k * (first - centre[unit])
            moments[1][index] = variance[index] + k**2 * (second - spread[unit])
        gain = s_v[unit] * grid[unit] / total
        put(2 * UNITS + unit, v[unit] + gain * error, s_v[unit] - gain**2 * total)
    gain = s_c[0] / total
    put(3 * UNITS, c[0] + gain * error, s_c[0] - gain**2 * total)
    return moments[0], moments[1]
