"""Variances of the differences between methods, robustly shrunk if there are few runs."""

import functools
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy import special, stats

FEW_RUNS = 10
"""With this many runs, each pair's own variance estimate is good enough."""
FEWEST_METHODS = 6
"""With fewer methods, too little is known about how their variances differ."""
LEVEL, CAUTIOUS_LEVEL = 0.05, 0.02
MANY_METHODS = 12
"""With this many methods, the prior of the variances is certain enough for `LEVEL`."""
WEIGHT_CAP = 2.0
"""Maximum weight of the prior, relative to a method's own runs."""
WINSORISED = 10
"""One in this many variances, the largest, is replaced by the next largest."""
NO_SPREAD = 1e-12
"""A residual variance below this share of the median counts as zero: the method repeats the
median."""
_QUANTILES = 20_000


class Differences(NamedTuple):
    """The mean difference of each method (row) from each other, and the variance for one run."""

    mean: Float[ndarray, "methods methods"]
    variance: Float[ndarray, "methods methods"]
    freedom: Float[ndarray, "methods methods"]
    """Degrees of freedom of `variance`."""


def level(methods: int, runs: int) -> float:
    """Return the nominal level of the tests: lower if the shrinkage itself is uncertain."""
    uncertain = runs < FEW_RUNS and FEWEST_METHODS <= methods < MANY_METHODS
    return CAUTIOUS_LEVEL if uncertain else LEVEL


def differences(scores: Float[ndarray, "methods runs"]) -> Differences:
    r"""Return all pairs' mean differences and the variance of one run's difference.

    With ten runs or more, or fewer than six methods, this is the usual paired variance. Otherwise
    the methods' variances are shrunk (`moderated`), and a pair has

    $$ V = \max(V_0, (f V_0 + d s^2) / (f + d)), \quad V_0 = \tilde v_i + \tilde v_j, $$

    with its paired variance s² and Satterthwaite's degrees of freedom f of V₀: a pair that is
    visibly more variable than its two methods suggest keeps part of the excess.
    """
    methods, runs = scores.shape
    freedom = runs - 1
    gaps = scores[:, None] - scores[None]
    mean, paired = gaps.mean(2), gaps.var(2, ddof=1)
    plain = Differences(mean, paired, np.full(paired.shape, float(freedom)))
    if runs >= FEW_RUNS or methods < FEWEST_METHODS:
        return plain
    unmoderated = residual_variances(scores)
    if not (unmoderated > NO_SPREAD * np.median(unmoderated)).all():
        return plain
    variance, of_method = moderated(unmoderated, freedom)
    both = variance[:, None] + variance[None]
    parts = variance**2 / of_method
    of_pair = both**2 / (parts[:, None] + parts[None])
    pooled = (of_pair * both + freedom * paired) / (of_pair + freedom)
    total = np.maximum(both, pooled)
    np.fill_diagonal(total, 0.0)
    return Differences(mean, total, of_pair)


def residual_variances(scores: Float[ndarray, "methods runs"]) -> Float[ndarray, " methods"]:
    """Return the variance of each method's centred scores minus the other methods' median.

    The median removes the effects that all methods share in a run, such as the initial network, and
    no single erratic method can move it. It excludes the method itself; otherwise the methods in
    the middle would have residuals of nearly zero.
    """
    centred = scores - scores.mean(1, keepdims=True)
    others = [np.median(np.delete(centred, m, 0), axis=0) for m in range(len(scores))]
    return (centred - others).var(1, ddof=1)


def moderated(
    variances: Float[ndarray, " methods"], freedom: int
) -> tuple[Float[ndarray, " methods"], Float[ndarray, " methods"]]:
    r"""Return variances shrunk towards their common value, and their degrees of freedom.

    $$ \tilde v = (w s_0^2 + d v) / (w + d), \quad w + d $$

    Common value s₀² and prior weight d₀ are fitted to winsorised logarithms; w is d₀/2, as
    residuals share the median and few methods say little about d₀, and at most 2 d. Outliers have a
    smaller w. Source: Phipson et al. (2016), "Robust hyperparameter estimation protects against
    hypervariable genes and improves power to detect differential expression".
    """
    count, d = len(variances), freedom
    logs = np.log(np.maximum(variances, 1e-300))
    logs = np.minimum(logs, np.sort(logs)[count - 1 - math.ceil(count / WINSORISED)])
    logs = logs - special.digamma(d / 2) + math.log(d / 2)
    centre, spread = winsorised_moments(count, d)
    prior = 2 * inverse_trigamma(max(float(logs.var(ddof=1)) - spread, 1e-6))
    shift = float(special.digamma(prior / 2)) - math.log(prior / 2)
    common = math.exp(float(logs.mean()) - centre + shift)
    weight = min(prior / 2, WEIGHT_CAP * d)
    largest_first = np.argsort(-variances, kind="stable")
    tail = stats.f.sf(variances[largest_first] / common, d, weight)
    expected = (np.arange(count) + 0.5) / count
    share = np.empty(count)
    share[largest_first] = np.maximum.accumulate(np.minimum(tail / expected, 1.0))
    weights = share * weight
    return (weights * common + d * variances) / (weights + d), weights + d


@functools.cache
def winsorised_moments(methods: int, freedom: int) -> tuple[float, float]:
    """Return mean and variance of winsorised log variances if all true variances were 1.

    ψ(d/2) - log(d/2) is subtracted from the mean, as from the logarithms in `moderated`.
    """
    top = (methods - math.ceil(methods / WINSORISED)) / (methods + 1)
    levels = np.minimum((np.arange(_QUANTILES) + 0.5) / _QUANTILES, top)
    logs = np.log(stats.chi2.ppf(levels, freedom) / freedom)
    offset = math.log(freedom / 2) - float(special.digamma(freedom / 2))
    return float(logs.mean()) + offset, float(logs.var())


def inverse_trigamma(value: float) -> float:
    """Return x > 0 with ψ'(x) equal to `value`, by Newton's method on 1/ψ', which is convex."""
    x = 0.5 + 1 / value
    for _ in range(12):
        trigamma = float(special.polygamma(1, x))
        x += trigamma * (1 - trigamma / value) / float(special.polygamma(2, x))
    return x
