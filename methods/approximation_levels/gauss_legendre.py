"""Integrals of functions with a kink at 0: Gauss-Legendre on either side of it."""

from functools import cache

import numpy as np
from jaxtyping import Float64
from numpy import ndarray

REACH = 9.0
"""Range of integration around the mean, in standard deviations."""
NODES = 48
"""Nodes on each side of 0."""

Nodes = Float64[ndarray, "*units nodes"]


def nodes(mean: ndarray, std: ndarray) -> tuple[Nodes, Nodes]:
    """Return nodes within reach of each mean, and their weights; each panel ends at 0."""
    low, high = mean - REACH * std, mean + REACH * std
    middle = np.clip(0.0, low, high)
    points, shares = _rule()
    panels = [
        ((a + b)[..., None] / 2 + (b - a)[..., None] / 2 * points, (b - a)[..., None] / 2 * shares)
        for a, b in ((low, middle), (middle, high))
    ]
    z, weights = (np.concatenate(parts, -1) for parts in zip(*panels, strict=True))
    return z, weights


@cache
def _rule() -> tuple[ndarray, ndarray]:
    return np.polynomial.legendre.leggauss(NODES)
