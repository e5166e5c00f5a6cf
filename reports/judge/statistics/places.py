"""The places that tests leave open.

A method has not the first place if the elimination calls it worse, and only then: sentences and
places agree. How far back it is, tests of pairs say.
"""

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from bnnbench.reports.judge.statistics.shaffer import shaffer


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
