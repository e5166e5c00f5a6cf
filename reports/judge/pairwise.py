"""All pairs of several methods, tested on the runs that each pair has in common."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from scipy import special

from bnnbench.metrics.statistics import holm

FEWEST = 3
"""Fewer differences are not tested."""

FEWEST_METHODS = 6
"""With fewer methods, too little is known about how variances differ between pairs."""


@dataclass(frozen=True)
class Pairwise:
    """Statistics of the difference between the first method of a pair (row) and the second."""

    mean: Float[ndarray, "*batch methods methods"]
    std: Float[ndarray, "*batch methods methods"]
    """Standard deviation of the differences, shrunk towards the value common to all pairs."""
    freedom: Float[ndarray, "*batch methods methods"]
    """Degrees of freedom of `std`, n - 1 or more."""
    count: Int[ndarray, "*batch methods methods"]
    """Number of differences: folds that both methods have, or seeds of the only fold."""
    p_value: Float[ndarray, "*batch methods methods"]
    """Two-sided p-value; NaN where a pair is not tested."""
    adjusted: Float[ndarray, "*batch methods methods"]
    """p-value adjusted by Holm over all tested pairs."""

    @property
    def tested(self) -> Bool[ndarray, "*batch methods methods"]:
        """A mask of the pairs that are tested."""
        return ~np.isnan(self.p_value)

    @property
    def tests(self) -> Int[ndarray, "*batch"]:
        """The number of tested pairs."""
        return np.asarray(self.tested.sum((-2, -1)) // 2)


def all_pairs(
    values: Float[ndarray, "*batch methods folds seeds"],
    present: Bool[ndarray, "*batch methods folds seeds"],
    test_to_train: float = 0.0,
) -> Pairwise:
    """Return the two-sided paired t test of every pair, and its p-values adjusted by Holm.

    With several folds, each fold is one difference, the mean over its seeds, and the variance is
    corrected for the overlap of training sets by `test_to_train` (Nadeau and Bengio 2003, see
    `corrected_resampled_t`). Holm over all pairs bounds the chance of any false claim, even where
    the claims are about the best method, which was chosen by the same data; Holm over the
    comparisons with that method alone would not. A pair is tested on the runs that both methods
    have: at least three differences, all of them finite.

    A variance of three differences is uncertain, and t tests on it detect next to nothing among
    many methods. With six methods or more, variances are therefore moderated: shrunk towards
    their common value as far as all pairs agree on one, see `_moderated`.
    """
    values = np.where(present, values, 0.0)
    rows, columns = (np.s_[..., :, None, :, :], np.s_[..., None, :, :, :])
    common = present[rows] & present[columns]
    finite = np.isfinite(values)
    whole = (finite[rows] & finite[columns] | ~common).all((-1, -2))
    values = np.where(finite, values, 0.0)
    gaps, seeds = (values[rows] - values[columns]) * common, common.sum(-1)
    if values.shape[-2] > 1:
        gaps, used = gaps.sum(-1) / np.maximum(seeds, 1), seeds > 0
    else:
        gaps, used = gaps[..., 0, :], common[..., 0, :]
    count = used.sum(-1)
    mean = gaps.sum(-1) / np.maximum(count, 1)
    squares = (((gaps - mean[..., None]) * used) ** 2).sum(-1)
    tested = whole & (count >= FEWEST) & ~np.eye(values.shape[-3], dtype=bool)
    variance, freedom = _moderated(squares / np.maximum(count - 1, 1), count - 1.0, tested)
    std = np.sqrt(variance)
    statistic = np.full(mean.shape, np.inf)
    spread = std * np.sqrt(1 / np.maximum(count, 1) + test_to_train)
    np.divide(np.abs(mean), spread, out=statistic, where=spread > 0)
    p_value = 2 * special.stdtr(np.maximum(freedom, 1), -statistic)
    p_value[mean == 0] = 1.0
    p_value[~tested] = np.nan
    return Pairwise(mean, std, freedom, count, p_value, _adjusted(p_value))


def _moderated(variance: ndarray, freedom: ndarray, tested: ndarray) -> tuple[ndarray, ndarray]:
    r"""Return variances shrunk towards their common value, and their degrees of freedom.

    $$ s^2 = (d_0 s_0^2 + d s^2) / (d_0 + d), \quad d + d_0 $$

    with the scaled inverse chi-squared prior (d₀, s₀²) that fits the logarithms of all pairs'
    variances. Source: Smyth (2004), "Linear models and empirical Bayes methods for assessing
    differential expression", sections 4 and 6.2. Pairs share methods, so d₀ counts half, and no
    more than makes the freedom of runs x methods together. Where methods differ much in spread,
    d₀ is near 0 and the tests are the usual ones.
    """
    methods = tested.any(-1).sum(-1)[..., None, None]
    used = tested & (variance > 0)
    pairs = np.maximum(_over_pairs(used, 1.0), 2)
    d = np.where(used, freedom, 1.0)
    logs = np.log(np.where(used, variance, 1.0)) - special.digamma(d / 2) + np.log(d / 2)
    center = _over_pairs(used, logs) / pairs
    excess = _over_pairs(used, (logs - center) ** 2) / (pairs - 1)
    excess -= _over_pairs(used, special.polygamma(1, d / 2)) / pairs
    prior = 2 * _inverse_trigamma(np.maximum(excess, 1e-6))
    common = np.exp(center + special.digamma(prior / 2) - np.log(prior / 2))
    weight = np.minimum(prior / 2, np.maximum(methods - 2, 0) * freedom)
    enough = (methods >= FEWEST_METHODS) & tested
    total = np.where(enough, freedom + weight, np.maximum(freedom, 1.0))
    drawn = np.where(enough, (weight * common + freedom * variance) / total, variance)
    return drawn, np.where(enough, total, freedom)


def _over_pairs(used: ndarray, values: ndarray | float) -> ndarray:
    """Return the sum over the used pairs, each of which appears twice."""
    return np.where(used, values, 0.0).sum((-2, -1), keepdims=True) / 2


def _inverse_trigamma(y: ndarray) -> ndarray:
    """Return x > 0 with ψ'(x) = y > 0, by Newton's method on 1/ψ', which is convex."""
    x = 0.5 + 1 / y
    for _ in range(12):
        trigamma = special.polygamma(1, x)
        x = x + trigamma * (1 - trigamma / y) / special.polygamma(2, x)
    return x


def _adjusted(p_value: ndarray) -> ndarray:
    """Return Holm's p-values of the pairs above the diagonal, on both sides of it."""
    first, second = np.triu_indices(p_value.shape[-1], 1)
    adjusted = holm(p_value[..., first, second])
    both_sides = np.full_like(p_value, np.nan)
    both_sides[..., first, second] = both_sides[..., second, first] = adjusted
    return both_sides
