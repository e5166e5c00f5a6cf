"""A rule that recommends a method by one fact of the table, chosen and checked by nested sets."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from bnnbench.reports.judge.over_sets.league import SAME, first_largest

FEWEST_OF_SIDE = 5
"""Data sets on each side of the rule's split."""
FEWEST = 2 * FEWEST_OF_SIDE + 2
"""With fewer data sets no rule can be fitted when two of them are left out."""

Weights = Float[ndarray, "draws sets"]


class Rules(NamedTuple):
    """For each draw: one split on one fact, and the method that each side recommends."""

    at_most: Bool[ndarray, "draws sets"]
    """True for the sets whose fact is at most the threshold."""
    low: Int[ndarray, " draws"]
    high: Int[ndarray, " draws"]

    def recommended(self, column: int) -> Int[ndarray, " draws"]:
        """Return the method for one set."""
        return np.where(self.at_most[:, column], self.low, self.high)


def rules(
    u: Float[ndarray, "methods sets"], facts: Mapping[str, Float[ndarray, " sets"]], drawn: Weights
) -> Rules:
    """Return, for each draw, the split with the largest sum of shares of its two best methods.

    A side has at least five different sets; without such a split both sides have the method that is
    best over all.
    """
    best = first_largest(drawn @ u.T)
    best_rules = Rules(np.ones(drawn.shape, bool), best, best.copy())
    largest = np.full(len(drawn), -np.inf)
    rows = np.arange(len(drawn))
    for values in facts.values():
        order = np.argsort(values, kind="stable")
        low = np.cumsum(drawn[:, order, None] * u.T[order], axis=1)
        high = low[:, -1:] - low
        total = np.where(
            _allowed(values[order], drawn[:, order]), low.max(2) + high.max(2), -np.inf
        )
        place = first_largest(total)
        better = total[rows, place] > largest + SAME
        largest = np.where(better, total[rows, place], largest)
        split = values <= values[order[place]][:, None]
        best_rules = Rules(
            np.where(better[:, None], split, best_rules.at_most),
            np.where(better, first_largest(low[rows, place]), best_rules.low),
            np.where(better, first_largest(high[rows, place]), best_rules.high),
        )
    return best_rules


def nested_regrets(
    u: Float[ndarray, "methods sets"], facts: Mapping[str, Float[ndarray, " sets"]], drawn: Weights
) -> tuple[Float[ndarray, " draws"], Float[ndarray, " draws"]]:
    """Return, for each draw, the mean regret of the whole procedure and how often a rule was used.

    For each set left out, the rule fitted to the others is used only if, with one more set left out
    at a time, it beats their constant recommendation by more than one standard error.
    """
    regret, used = np.zeros(len(drawn)), np.zeros(len(drawn))
    for g in range(u.shape[1]):
        seen = _without(drawn, g)
        is_used = _beats_constant(u, facts, seen)
        rule, constant = rules(u, facts, seen).recommended(g), first_largest(seen @ u.T)
        chosen = np.where(is_used, rule, constant)
        regret += drawn[:, g] * (u[:, g].max() - u[chosen, g])
        used += drawn[:, g] * is_used
    return regret / drawn.sum(1), used / drawn.sum(1)


def _allowed(values: ndarray, drawn: Weights) -> Bool[ndarray, "draws sets"]:
    """Return after which of the sorted sets a draw may be split."""
    low = np.cumsum(drawn > 0, axis=1)
    enough = (low >= FEWEST_OF_SIDE) & (low[:, -1:] - low >= FEWEST_OF_SIDE)
    return enough & np.append(values[:-1] < values[1:], False)


def _without(drawn: Weights, column: int) -> Weights:
    left = drawn.astype(float)
    left[:, column] = 0.0
    return left


def _beats_constant(u: ndarray, facts: Mapping[str, ndarray], seen: Weights) -> ndarray:
    gains = []
    for h in range(u.shape[1]):
        left = _without(seen, h)
        gains.append(u[rules(u, facts, left).recommended(h), h] - u[first_largest(left @ u.T), h])
    d, n = np.array(gains).T, seen.sum(1)
    mean = (seen * d).sum(1) / n
    squares = (seen * (d - mean[:, None]) ** 2).sum(1)
    return mean > np.sqrt(squares / np.maximum(n - 1, 1) / n)
