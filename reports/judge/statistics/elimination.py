"""Methods that are worse than another, and methods within a margin of every possible best."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from scipy import special

from bnnbench.metrics.statistics import holm


class Errors(NamedTuple):
    """The mean difference of each method (row) from each other method, with its error.

    Lower scores are better: a positive mean says that the row is worse.
    """

    mean: Float[ndarray, "methods methods"]
    squared_error: Float[ndarray, "methods methods"]
    freedom: Float[ndarray, "methods methods"]


def one_sided(
    mean: Float[ndarray, "..."],
    squared_error: Float[ndarray, "..."],
    freedom: Float[ndarray, "..."],
) -> Float[ndarray, "..."]:
    """Return the p-value of the hypothesis that a true difference is at most 0, by Student's t.

    A squared error of 0 gives 0 or 1, and 1/2 if the mean is also 0.
    """
    certain = np.where(mean > 0, np.inf, np.where(mean < 0, -np.inf, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(squared_error > 0, mean / np.sqrt(squared_error), certain)
    return special.stdtr(freedom, -t)


def worse_p(errors: Errors) -> Float[ndarray, "methods methods"]:
    """Return the p-value of the row being no worse than the column; 1 on the diagonal."""
    p = one_sided(*errors)
    np.fill_diagonal(p, 1.0)
    return p


def eliminated(p: Float[ndarray, "methods methods"]) -> Float[ndarray, " methods"]:
    """Return the adjusted p-value of a method being worse than another.

    The methods with the smallest p-values are eliminated one at a time. With k methods left, the
    p-value is multiplied by k (k - 1), for all ordered pairs and for selecting the best on the same
    data. The chance that any method that is truly best, or tied for best, is called worse stays
    within the level. Methods are tested against all others: an erratic leader does not shield them.
    """
    left, adjusted, largest = list(range(len(p))), np.ones(len(p)), 0.0
    while len(left) > 1:
        least = p[np.ix_(left, left)].min(1)
        first = int(least.argmin())
        largest = max(largest, min(1.0, len(left) * (len(left) - 1) * float(least[first])))
        adjusted[left.pop(first)] = largest
    return adjusted


def witnesses(p: Float[ndarray, "methods methods"]) -> Int[ndarray, " methods"]:
    """Return, for each method, the method that it is worse than with the smallest p-value."""
    return p.argmin(1)


def equal_p(
    errors: Errors, left: list[int], leader: int, margin: float
) -> Float[ndarray, " methods"]:
    """Return the adjusted p-value of a method not being within `margin` of the best.

    This is the one-sided part of two one-sided tests against every method in `left`, the methods
    that may be the best. All of them must be rejected, so the largest p-value needs no correction.
    Holm's correction then covers all methods but the leader.
    """
    behind = one_sided(margin - errors.mean, errors.squared_error, errors.freedom)
    np.fill_diagonal(behind, 0.0)
    raw = behind[:, left].max(1)
    if len(left) == 1:
        raw[left] = 1.0
    rivals = np.arange(len(raw)) != leader
    adjusted = np.ones(len(raw))
    adjusted[rivals] = holm(raw[rivals])
    return adjusted
