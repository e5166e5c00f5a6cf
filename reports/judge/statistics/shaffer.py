"""The differences of all pairs of methods, tested by Shaffer's procedure, and places left open.

A method has not the first place if the elimination calls it worse, and only then: sentences and
places agree. How far back it is, tests of pairs say.
"""

import functools
import math

import numpy as np
from jaxtyping import Bool, Float, Int
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


def worse_pairs(p: Float[ndarray, "methods methods"]) -> Float[ndarray, "methods methods"]:
    """Return p-values of the row being worse than the column, corrected by Shaffer's procedure."""
    return np.where(p < p.T, shaffer(p), 1.0)


def open_places(
    worse: Bool[ndarray, " methods"], adjusted: Float[ndarray, "methods methods"], at: float
) -> Int[ndarray, "methods ends"]:
    """Return the first and the last place that each method may have; 1 is the best.

    `adjusted` has p-values of the row being worse than the column, corrected for all pairs. A
    method's first place follows the methods that it is shown to be worse than, its last one
    precedes those that are shown to be worse than it. Only a method that is called worse is shown
    to be worse than another; of what is shown, all consequences count: if i is worse than j, and j
    than k, so is i than k; the only one that is not called worse is the best, and all others are
    worse than it.
    """
    shown = consequences(worse[:, None] & (adjusted <= at))
    left = np.flatnonzero(~worse)
    if len(left) == 1:
        shown[worse, left] = True
    better = np.maximum(shown.sum(1), worse)
    return np.stack([better + 1, len(worse) - shown.sum(0)], axis=1)


def consequences(shown: Bool[ndarray, "methods methods"]) -> Bool[ndarray, "methods methods"]:
    """Return the transitive closure: which row is worse than which column."""
    closed = shown.copy()
    for k in range(len(closed)):
        closed |= closed[:, [k]] & closed[k]
    return closed
