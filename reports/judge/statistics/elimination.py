"""Methods that are worse than another, and methods within a margin of every possible best."""

from collections.abc import Iterator
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
    adjusted, largest = np.ones(len(p)), 0.0
    for left, first in removals(p):
        largest = max(largest, min(1.0, factor(left) * float(p[first, left].min())))
        adjusted[first] = largest
    return adjusted


def removals(p: Float[ndarray, "methods methods"]) -> Iterator[tuple[list[int], int]]:
    """Yield the methods that are left, and the one with the smallest p-value, which is removed."""
    left = list(range(len(p)))
    while len(left) > 1:
        first = left[int(p[np.ix_(left, left)].min(1).argmin())]
        yield list(left), first
        left.remove(first)


def factor(left: list[int]) -> int:
    """Return the number of ordered pairs of the methods that are left."""
    return len(left) * (len(left) - 1)


def limits_behind_best(
    errors: Errors, leader: int, at: float
) -> tuple[Float[ndarray, " methods"], Float[ndarray, " methods"]]:
    """Return limits of each method's distance behind the best, by the steps of `eliminated`.

    The lower limit is that of the distance from the method's witness among those left, with the
    level of its step or, once nothing more is eliminated, of the last step: it is above 0 exactly
    for the methods that `eliminated` calls worse. The upper one is that of the distance from the
    leader, at the same level.
    """
    p, low, high = worse_p(errors), np.zeros(len(errors.mean)), np.zeros(len(errors.mean))
    for left, first in removals(p):
        stops = factor(left) * float(p[first, left].min()) > at
        for i in left if stops else [first]:
            rivals = [j for j in left if j != i]
            witness = rivals[int(p[i, rivals].argmin())]
            low[i] = errors.mean[i, witness] - _reach(errors, i, witness, at / factor(left))
            high[i] = errors.mean[i, leader] + _reach(errors, i, leader, at / factor(left))
        if stops:
            break
    return low, high


def _reach(errors: Errors, i: int, j: int, at: float) -> float:
    """Return how far the one-sided limit of a difference is from its mean."""
    quantile = -special.stdtrit(errors.freedom[i, j], at)
    return float(quantile * np.sqrt(errors.squared_error[i, j]))


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
