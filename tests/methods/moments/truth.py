"""Moments of a function of a normal unit, by quadrature; standard functions with many digits."""

from collections.abc import Callable, Sequence

import mpmath
import numpy as np

Real = Callable[[np.ndarray], np.ndarray]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
PANELS = np.linspace(-38, 38, 153)
"""Ends of the intervals of integration, in standard deviations."""


def moments(
    function: Real, mean: float, variance: float, breaks: Sequence[float] = ()
) -> tuple[float, float]:
    """Return mean and variance of `function` of a normal; it is smooth except at `breaks`."""
    first = expectation(function, mean, variance, breaks)
    return first, expectation(lambda x: (function(x) - first) ** 2, mean, variance, breaks)


def expectation(
    function: Real, mean: float, variance: float, breaks: Sequence[float] = ()
) -> float:
    """Return the mean of `function` of a normal; integrands of one sign keep all digits."""
    std = variance**0.5
    inside = [(b - mean) / std for b in breaks if abs(b - mean) < 38 * std]
    ends = np.sort([*inside, *PANELS])
    half = np.diff(ends)[:, None] / 2
    z = ends[:-1, None] + half * (1 + NODES)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return float((half * WEIGHTS * density * function(mean + std * z)).sum())


def variance_ratio(a: float) -> mpmath.mpf:
    """Return the variance of max(Z + a, 0), whose terms cancel, with enough digits."""
    with mpmath.workdps(120):
        a = mpmath.mpf(a)
        density, cdf = mpmath.npdf(a), mpmath.erfc(-a / mpmath.sqrt(2)) / 2
        return a * density + (a * a + 1) * cdf - (a * cdf + density) ** 2


def mean_factor(a: float) -> mpmath.mpf:
    """Return the mean of max(Z + a, 0) with enough digits."""
    with mpmath.workdps(120):
        a = mpmath.mpf(a)
        return a * mpmath.erfc(-a / mpmath.sqrt(2)) / 2 + mpmath.npdf(a)
