"""The differences of all pairs of methods, tested by Shaffer's procedure."""

import functools
import math

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def shaffer(p: Float[ndarray, "methods methods"]) -> Float[ndarray, "methods methods"]:
    """Return adjusted two-sided p-values of all pairs, given one-sided ones.

    If r - 1 hypotheses of equality are false, not all of the others can be true: two equalities
    imply the third. The r-th smallest p-value is multiplied by the largest number that can be true.
    Source: Shaffer (1986), "Modified sequentially rejective multiple test procedures".
    """
    methods = len(p)
    first, second = np.triu_indices(methods, 1)
    raw = np.minimum(1.0, 2 * np.minimum(p[first, second], p[second, first]))
    order = np.argsort(raw, kind="stable")
    scaled = np.minimum(1.0, np.array(multipliers(methods)) * raw[order])
    values = np.empty(len(raw))
    values[order] = np.maximum.accumulate(scaled)
    adjusted = np.ones((methods, methods))
    adjusted[first, second] = adjusted[second, first] = values
    return adjusted


def multipliers(methods: int) -> list[int]:
    """Return, for each step, the largest number of equalities that can still be true."""
    pairs = math.comb(methods, 2)
    return [max(t for t in attainable(methods) if t <= pairs - r) for r in range(pairs)]


@functools.cache
def attainable(methods: int) -> frozenset[int]:
    """Return the possible numbers of equal pairs; equal methods form groups."""
    if methods < 2:
        return frozenset({0})
    return frozenset(
        math.comb(group, 2) + rest
        for group in range(1, methods + 1)
        for rest in attainable(methods - group)
    )
