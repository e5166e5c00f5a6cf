"""Scores of masses of bins, each spread evenly over its bin."""

import numpy as np
from jaxtyping import Float64
from numpy import ndarray

Masses = Float64[ndarray, "rows bins"]
Edges = Float64[ndarray, "rows edges"]
Targets = Float64[ndarray, " rows"]


def density_loss(masses: Masses, edges: Edges, target: Targets) -> Float64[ndarray, " rows"]:
    r"""Return $\int f^2 - 2 f(y)$; infinite for bins without width.

    Source: Izbicki and Lee (2016), "Nonparametric conditional density estimation in a
    high-dimensional regression setting".
    """
    widths = np.diff(edges, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        density = masses / widths
        squares = np.where(masses > 0, masses * density, 0).sum(1)
        at = (edges[:, :-1] <= target[:, None]) & (target[:, None] < edges[:, 1:])
        return squares - 2 * np.where(at, density, 0).sum(1)


def energy_score(
    masses: Masses, edges: Edges, target: Targets, beta: float
) -> Float64[ndarray, " rows"]:
    r"""Return $E|X - y|^\beta - \tfrac12 E|X - X'|^\beta$ of bins of equal width in each row.

    The second mean depends on the distance of two bins alone, so that the masses are correlated
    with themselves. Source: Gneiting and Raftery (2007), "Strictly proper scoring rules,
    prediction, and estimation", section 4.3.
    """
    widths = np.diff(edges, axis=1).mean(1)
    unit = np.where(widths > 0, widths, 1.0)
    powers = _signed_power((edges - target[:, None]) / unit[:, None], beta + 1)
    to_points = np.abs(edges[:, :-1] - target[:, None]) ** beta
    to_bins = unit[:, None] ** beta * np.diff(powers, axis=1) / (beta + 1)
    error = (masses * np.where(widths[:, None] > 0, to_bins, to_points)).sum(1)
    spread = widths**beta * (_correlation(masses) * _between_bins(masses.shape[1], beta)).sum(1)
    return error - spread / 2


def _between_bins(count: int, beta: float) -> Float64[ndarray, " bins"]:
    r"""Return $E|k + U - U'|^\beta$ of uniform U and U', for the distances k of bins in widths."""
    k, power = np.arange(count, dtype=np.float64), beta + 2
    return ((k + 1) ** power - 2 * k**power + np.abs(k - 1) ** power) / ((beta + 1) * power)


def _correlation(masses: Masses) -> Masses:
    """Return the probability of each distance between the bins of two independent draws."""
    count = masses.shape[1]
    transformed = np.fft.rfft(masses, 2 * count, axis=1)
    correlation = np.fft.irfft(np.abs(transformed) ** 2, 2 * count, axis=1)[:, :count].clip(min=0)
    return correlation * np.where(np.arange(count) > 0, 2, 1)


def _signed_power(x: ndarray, power: float) -> ndarray:
    return np.sign(x) * np.abs(x) ** power
