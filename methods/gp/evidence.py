r"""The log marginal likelihood of a Gaussian process, and its gradient, in O(n^3 + n^2 d).

Scikit-learn forms the derivatives of the covariances by every length scale, n^2 d numbers. For a
stationary kernel $\sigma^2 k(r)$ with $r^2 = \sum_l (x_{il} - x_{jl})^2 / \ell_l^2$, they are
$$ \frac{\partial K_{ij}}{\partial \log \ell_l} = \sigma^2 g(r_{ij}) (z_{il} - z_{jl})^2,
\quad z_{il} = x_{il} / \ell_l, \quad g(r) = -k'(r) / r, $$
so that their traces with a symmetric matrix are products of matrices with z.

Source: Rasmussen and Williams (2006), "Gaussian Processes for Machine Learning", algorithm 2.1 and
equation 5.9.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy.linalg import lapack as _lapack
from scipy.spatial.distance import pdist, squareform

lapack: Any = _lapack  # without stubs

Condensed = Float64[np.ndarray, " pairs"]
"""A number for each pair of rows, as `scipy.spatial.distance.pdist` orders them."""
Correlation = Callable[[Condensed], tuple[Condensed, Condensed]]


def _rbf(squares: Condensed) -> tuple[Condensed, Condensed]:
    k = np.exp(-0.5 * squares)
    return k, k


def _matern32(squares: Condensed) -> tuple[Condensed, Condensed]:
    r = np.sqrt(3.0 * squares)
    decay = np.exp(-r)
    return (1 + r) * decay, 3 * decay


def _matern52(squares: Condensed) -> tuple[Condensed, Condensed]:
    r = np.sqrt(5.0 * squares)
    decay = np.exp(-r)
    return (1 + r + r**2 / 3) * decay, 5 / 3 * (1 + r) * decay


CORRELATIONS: Mapping[str, Correlation] = {
    "rbf": _rbf,
    "matern32": _matern32,
    "matern52": _matern52,
}
"""Name of a kernel → the function from squared distances r^2 to k(r) and g(r)."""


def evidence(
    correlation: Correlation,
    inputs: Float64[np.ndarray, "rows features"],
    targets: Float64[np.ndarray, " rows"],
    variance: float,
    lengths: Float64[np.ndarray, " features"],
    noise: float,
) -> tuple[float, Float64[np.ndarray, " settings"]]:
    """Return the log marginal likelihood and its gradient in the settings' logarithms.

    `variance` and `noise` are variances; the gradient is in the order of these arguments. Where the
    covariances are not positive definite, it is minus infinity with a gradient of 0.
    """
    z = inputs / lengths
    k, g = correlation(pdist(z, "sqeuclidean"))
    signal = variance * squareform(k)
    np.fill_diagonal(signal, variance)
    factor, failed = lapack.dpotrf(signal + noise * np.eye(len(z)), lower=True)
    if failed:
        return -math.inf, np.zeros(len(lengths) + 2)
    lower = lapack.dpotri(factor, lower=True)[0]
    inverse = np.tril(lower) + np.tril(lower, -1).T
    alpha = lapack.dpotrs(factor, targets, lower=True)[0]
    value = -0.5 * targets @ alpha - np.log(factor.diagonal()).sum()
    value -= 0.5 * len(z) * math.log(2 * math.pi)
    weights = 0.5 * (np.outer(alpha, alpha) - inverse)
    pairs = weights * (variance * squareform(g))  # its diagonal is 0
    by_length = 2 * (pairs.sum(1) @ z**2 - (z * (pairs @ z)).sum(0))
    by_variance, by_noise = np.vdot(weights, signal), noise * np.trace(weights)
    return float(value), np.array([by_variance, *by_length, by_noise])
