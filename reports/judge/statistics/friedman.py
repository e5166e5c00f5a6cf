"""Several methods compared over several data sets, by their ranks.

Source: Demšar (2006), "Statistical comparisons of classifiers over multiple data sets".
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from scipy import stats

from bnnbench.metrics.statistics import Significance


@dataclass(frozen=True)
class Ranking:
    """Mean ranks, 1 being best, and two tests that all methods are equal."""

    mean_ranks: Float[ndarray, " methods"]
    sets: int
    friedman: Significance
    iman_davenport: Significance


def ranking(scores: Float[ndarray, "sets methods"], higher_is_better: bool) -> Ranking:
    r"""Return the ranking of methods that were all scored on all sets; ties share ranks.

    $$ \chi^2 = \tfrac{12 N}{k(k+1)} \left[\sum_j R_j^2 - \tfrac{k(k+1)^2}{4}\right], \quad
       F = \tfrac{(N-1) \chi^2}{N(k-1) - \chi^2} $$

    Raises ValueError if a score is missing or there are fewer than two sets or methods.
    """
    sets, methods = scores.shape
    if sets < 2 or methods < 2:
        raise ValueError(f"ranks need two sets and two methods, not {sets} and {methods}")
    if np.isnan(scores).any():
        raise ValueError("a score is missing: drop its set or its method; never impute it")
    ranks = stats.rankdata(-scores if higher_is_better else scores, axis=1).mean(0)
    centre = methods * (methods + 1) ** 2 / 4
    chi2 = 12 * sets / (methods * (methods + 1)) * float((ranks**2).sum() - centre)
    freedom = methods - 1
    rest = sets * freedom - chi2
    # If the methods' order is the same on every set, the remainder is only rounding.
    f = (sets - 1) * chi2 / rest if rest > 1e-9 * sets * freedom else math.inf
    return Ranking(
        ranks,
        sets,
        Significance(chi2, float(stats.chi2.sf(chi2, freedom))),
        Significance(f, float(stats.f.sf(f, freedom, freedom * (sets - 1)))),
    )


def critical_difference(methods: int, sets: int, alpha: float = 0.05) -> float:
    r"""Return the Nemenyi critical difference of mean ranks, $q_\alpha \sqrt{k(k+1)/(6N)}$.

    q is the studentised range's quantile at infinite degrees of freedom, divided by √2.
    """
    q = stats.studentized_range.ppf(1 - alpha, methods, math.inf) / math.sqrt(2)
    return float(q * math.sqrt(methods * (methods + 1) / (6 * sets)))


def rank_p_values(
    scores: Float[ndarray, "sets methods"], higher_is_better: bool, seed: int = 0
) -> Float[ndarray, "methods methods"]:
    """Return p-values for two methods having the same mean rank, adjusted for testing all pairs.

    If two methods are equal, the difference of their ranks on a set has either sign with equal
    chance. The largest |sum over sets| of all pairs is compared with its values under random sign
    flips, the same flips for all pairs; then the next largest without that pair, and so on (the
    step-down procedure of Westfall and Young 1993, "Resampling-based multiple testing"). Flips are
    enumerated for up to 13 sets; beyond, 8192 random ones are drawn.

    Nemenyi's test compares the same statistic with its distribution when all methods are
    equal. If only some are equal, and others lie between them, it makes far more false claims
    than its level says (Benavoli, Corani and Mangili 2016, "Should we really use post-hoc tests
    based on mean-ranks?"). The signed rank test with Holm keeps its level, but needs 11 sets to
    separate any two of 10 methods, for which this test needs 6.
    """
    sets, methods = scores.shape
    ranks = stats.rankdata(-scores if higher_is_better else scores, axis=1)
    first, second = np.triu_indices(methods, 1)
    gaps = ranks[:, first] - ranks[:, second]
    observed = np.abs(gaps.sum(0))
    order = np.argsort(-observed, kind="stable")
    flipped = np.abs(_signs(sets, seed) @ gaps[:, order])
    largest = np.maximum.accumulate(flipped[:, ::-1], axis=1)[:, ::-1]
    # Sums of ranks are multiples of 1/2: the tolerance is only a safeguard.
    p_values = (largest >= observed[order] - 1e-9).mean(0)
    adjusted = np.ones((methods, methods))
    adjusted[first[order], second[order]] = np.maximum.accumulate(p_values)
    return np.minimum(adjusted, adjusted.T)


def least_p_value(sets: int) -> float:
    """Return the minimum p-value of `rank_p_values`: all flips but two are less extreme."""
    return 2.0 ** (1 - sets) if sets <= _ENUMERATED else 1 / _FLIPS


_ENUMERATED, _FLIPS = 13, 8192


def _signs(sets: int, seed: int) -> Float[ndarray, "flips sets"]:
    """Return sign patterns of sets, the observed first; a pattern and its negative count once."""
    if sets > _ENUMERATED:
        drawn = np.random.default_rng(seed).integers(0, 2, size=(_FLIPS, sets)) * 2.0 - 1
        drawn[0] = 1
        return drawn
    bits = np.arange(2 ** (sets - 1))[:, None] >> np.arange(sets) & 1
    return 1.0 - 2.0 * bits


def undivided(
    mean_ranks: Float[ndarray, " methods"], different: Bool[ndarray, "methods methods"]
) -> list[tuple[int, ...]]:
    """Return the maximal groups of neighbours by rank without a difference: a diagram's bars.

    Groups of two or more, and the methods (by index) within them, are ordered from the best rank to
    the worst. Two methods that do not differ may share no group if a method between them differs.
    """
    order = np.argsort(mean_ranks, kind="stable")
    apart = different[np.ix_(order, order)]
    ends = []
    for start in range(len(order)):
        end = start + 1
        while end < len(order) and not apart[start:end, end].any():
            end += 1
        ends.append(end)
    starts = [i for i in range(len(ends)) if i == 0 or ends[i] > ends[i - 1]]
    return [tuple(order[i : ends[i]].tolist()) for i in starts if ends[i] - i > 1]


def complete_block(
    present: Bool[ndarray, "sets methods"],
) -> tuple[Int[ndarray, " kept_sets"], Int[ndarray, " kept_methods"]]:
    """Return the sets and methods to keep so that every method has a score on every set.

    The set or method that lacks the largest share of its scores is dropped, one at a time; in a
    tie, the method.
    """
    sets, methods = (np.arange(count) for count in present.shape)
    while len(sets) and len(methods) and not (block := present[np.ix_(sets, methods)]).all():
        by_set, by_method = 1 - block.mean(1), 1 - block.mean(0)
        if by_method.max() >= by_set.max():
            methods = np.delete(methods, by_method.argmax())
        else:
            sets = np.delete(sets, by_set.argmax())
    return sets, methods
