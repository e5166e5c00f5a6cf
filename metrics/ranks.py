"""Several methods compared over several data sets, by their ranks.

Source: Demšar (2006), "Statistical comparisons of classifiers over multiple data sets".
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from scipy import stats

from metrics.statistics import Significance, holm, wilcoxon


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

    Raises ValueError when a score is missing or there are fewer than two sets or methods.
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
    # Methods in the same order on every set leave no rest but rounding.
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


def wilcoxon_holm(
    scores: Float[ndarray, "sets methods"],
) -> Float[ndarray, "methods methods"]:
    """Return the p-values of all pairs, by the signed rank test over sets, adjusted by Holm.

    Unlike differences of mean ranks, which Nemenyi's test compares, a pair's p-value does not
    depend on which other methods take part. Methods with equal scores have 1, as a method has
    with itself; scores on which both failed (infinite) count as equal.
    Source: Benavoli, Corani and Mangili (2016), "Should we really use post-hoc tests based on
    mean-ranks?".
    """
    methods = scores.shape[1]
    upper = np.triu_indices(methods, 1)
    raw = np.array([_signed_ranks(scores[:, i], scores[:, j]) for i, j in zip(*upper, strict=True)])
    adjusted = np.ones((methods, methods))
    adjusted[upper] = holm(raw) if len(raw) else raw
    adjusted.T[upper] = adjusted[upper]
    return adjusted


def _signed_ranks(one: ndarray, other: ndarray) -> float:
    same = one == other
    differences = np.where(same, 0.0, one - np.where(same, 0.0, other))
    return wilcoxon(np.where(same, 0.0, differences)).p_value


def least_p_value(methods: int, sets: int) -> float:
    """Return the least p-value that `wilcoxon_holm` may give: 2/2^N times the number of pairs."""
    return min(1.0, 2.0 ** (1 - sets) * methods * (methods - 1) / 2)


def undivided(
    mean_ranks: Float[ndarray, " methods"], different: Bool[ndarray, "methods methods"]
) -> list[tuple[int, ...]]:
    """Return the largest groups of neighbours by rank of which no two differ: a diagram's bars.

    Groups of two or more, and the methods (by index) within them, go from the best rank to the
    worst. Two methods may not differ and share no group, where one between them differs.
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
    """Return which sets and methods to keep so that every method has a score on every set.

    What lacks the largest share of its scores is left out, one set or method at a time; between
    equals the method.
    """
    sets, methods = (np.arange(count) for count in present.shape)
    while len(sets) and len(methods) and not (block := present[np.ix_(sets, methods)]).all():
        by_set, by_method = 1 - block.mean(1), 1 - block.mean(0)
        if by_method.max() >= by_set.max():
            methods = np.delete(methods, by_method.argmax())
        else:
            sets = np.delete(sets, by_set.argmax())
    return sets, methods
