"""Several methods compared over several data sets, by their ranks.

Source: Demšar (2006), "Statistical comparisons of classifiers over multiple data sets".
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy import stats

from metrics.statistics import Significance


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


def indistinguishable(
    mean_ranks: Float[ndarray, " methods"], difference: float
) -> list[tuple[int, ...]]:
    """Return the largest groups of two or more methods within `difference`: a diagram's bars.

    Groups and the methods (by index) within them go from the best rank to the worst.
    """
    order = np.argsort(mean_ranks, kind="stable")
    ordered = mean_ranks[order]
    ends = np.searchsorted(ordered, ordered + difference, side="right")
    starts = [start for start in range(len(ends)) if start == 0 or ends[start] > ends[start - 1]]
    return [
        tuple(int(method) for method in order[start : ends[start]])
        for start in starts
        if ends[start] - start > 1
    ]
