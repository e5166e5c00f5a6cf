"""Methods that are worse over data sets: sign flips of whole sets, the maximum over all pairs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from bnnbench.reports.judge.over_sets.draws import SIGNS, signs
from bnnbench.reports.judge.over_sets.league import Shares

DRAWS = 9_999
TOLERANCE = 1e-9
"""Flips whose statistics differ less are equal."""
MOST_NUMBERS = 4_000_000
"""Numbers of the null distribution in memory at once."""


def worse_over_sets(of: Shares, draws: int = DRAWS) -> Float[ndarray, " methods"]:
    """Return adjusted p-values that a method is worse than another, in shares and in ranks."""
    return np.maximum(adjusted(of.u, draws), adjusted(of.ranks, draws))


def adjusted(
    y: Float[ndarray, "methods sets"], draws: int = DRAWS, stream: int = SIGNS
) -> Float[ndarray, " methods"]:
    r"""Return adjusted p-values that a method is worse, over sets, than another that is left.

    $R_{ij} = \sum_g d_g / \sqrt{\sum_g d_g^2}$ of $d_g = y_{ig} - y_{jg}$ increases with the paired
    t, and no flip changes its denominator. One sign a set is drawn for all methods at once, which
    keeps their correlation. The method with the largest R against it is removed first; its p-value
    is the share of flips whose largest |R| over all pairs left is as large. p-values never
    decrease. Level: the chance that a method that is truly best, or tied, is called worse, if
    differences are symmetric about their centre.

    Source: Westfall and Young (1993), "Resampling-Based Multiple Testing", stepping down.
    """
    null = _null_of(y, draws, stream)
    p_values = np.ones(len(y))
    of_steps = [null.p(step, value) for step, value in enumerate(null.largest)]
    p_values[null.order[:-1]] = np.maximum.accumulate(of_steps)
    return p_values


def pairs_over_sets(of: Shares, draws: int = DRAWS) -> Float[ndarray, "methods methods"]:
    """Return adjusted p-values that the row is worse than the column, in shares and in ranks."""
    return np.maximum(adjusted_pairs(of.u, draws), adjusted_pairs(of.ranks, draws))


def adjusted_pairs(
    y: Float[ndarray, "methods sets"], draws: int = DRAWS, stream: int = SIGNS
) -> Float[ndarray, "methods methods"]:
    """Return adjusted p-values that the row is worse, over sets, than the column.

    The null distribution is that of the largest |R| over all pairs.
    """
    null = _null_of(y, draws, stream)
    return np.where(np.isfinite(null.observed), null.p(0, null.observed), 1.0)


@dataclass(frozen=True)
class _Null:
    """The steps of removal, and the null distribution of the largest statistic at each."""

    observed: Float[ndarray, "methods methods"]
    order: Int[ndarray, " methods"]
    largest: Float[ndarray, " steps"]
    """The statistic of the method that is removed."""
    maxima: Float[ndarray, "steps draws"]
    """In ascending order at every step."""
    exact: bool

    def p(self, step: int, value: Any) -> Any:
        """Return the share of flips whose largest statistic is as large as `value`."""
        count = self.maxima.shape[1]
        hits = count - np.searchsorted(self.maxima[step], value - TOLERANCE)
        return hits / count if self.exact else (1 + hits) / (1 + count)


def _null_of(y: Float[ndarray, "methods sets"], draws: int, stream: int) -> _Null:
    methods, sets = y.shape
    observed = _statistics(y)
    order, largest = _removals(observed)
    i, j = np.triu_indices(methods, 1)
    step = np.empty(methods, int)
    step[order] = np.arange(methods)
    gone = np.minimum(step[i], step[j])  # a pair is left until one of its methods is removed
    pairs = np.argsort(gone, kind="stable")
    unit = _unit_differences(y, i[pairs], j[pairs])
    starts = np.searchsorted(gone[pairs], np.arange(methods - 1))
    flips, exact = signs(sets, draws, stream)
    maxima = []
    for part in np.array_split(flips, 1 + len(flips) * len(pairs) // MOST_NUMBERS):
        null = np.maximum.reduceat(np.abs(part @ unit.T), starts, axis=1)
        maxima.append(np.maximum.accumulate(null[:, ::-1], axis=1)[:, ::-1])
    return _Null(observed, order, largest, np.sort(np.vstack(maxima).T, axis=1), exact)


def _unit_differences(y: ndarray, i: ndarray, j: ndarray) -> Float[ndarray, "pairs sets"]:
    d = y[i] - y[j]
    return d / (np.sqrt((d**2).sum(1, keepdims=True)) + 1e-30)


def _statistics(y: ndarray) -> Float[ndarray, "methods methods"]:
    """Return R of each method (row) being worse than each other; minus infinity on the diagonal."""
    i, j = np.triu_indices(len(y), 1)
    r = np.full((len(y), len(y)), -np.inf)
    r[j, i] = _unit_differences(y, i, j).sum(1)
    r[i, j] = -r[j, i]
    return r


def _removals(r: ndarray) -> tuple[Int[ndarray, " methods"], Float[ndarray, " steps"]]:
    """Return the methods in the order of removal, and the largest R of each but the last."""
    left, order, largest = list(range(len(r))), [], []
    while len(left) > 1:
        against = r[np.ix_(left, left)].max(1)
        first = int(against.argmax())
        largest.append(float(against[first]))
        order.append(left.pop(first))
    return np.array([*order, *left]), np.array(largest)
