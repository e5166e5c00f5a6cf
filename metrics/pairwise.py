"""All pairs of several methods, tested on the runs that each pair has in common."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from scipy import special

FEWEST = 3
"""The fewest differences that are tested."""


@dataclass(frozen=True)
class Pairwise:
    """What is known of the first method of a pair (row) less the second (column)."""

    mean: Float[ndarray, "*batch methods methods"]
    std: Float[ndarray, "*batch methods methods"]
    """Standard deviation (n - 1) of the differences."""
    count: Int[ndarray, "*batch methods methods"]
    """Differences: folds that both have, or seeds of the only fold."""
    p_value: Float[ndarray, "*batch methods methods"]
    """Two-sided; NaN where a pair is not tested."""
    adjusted: Float[ndarray, "*batch methods methods"]
    """By Holm over all the pairs that are tested."""

    @property
    def tested(self) -> Bool[ndarray, "*batch methods methods"]:
        """Which pairs are tested."""
        return ~np.isnan(self.p_value)

    @property
    def tests(self) -> Int[ndarray, "*batch"]:
        """How many pairs are tested."""
        return np.asarray(self.tested.sum((-2, -1)) // 2)


def all_pairs(
    values: Float[ndarray, "*batch methods folds seeds"],
    present: Bool[ndarray, "*batch methods folds seeds"],
    test_to_train: float = 0.0,
) -> Pairwise:
    """Return the two-sided paired t test of every pair, and its p-values adjusted by Holm.

    With several folds each is one difference, the mean over its seeds, and the variance is
    corrected for the overlap of training sets by `test_to_train` (Nadeau and Bengio 2003, see
    `corrected_resampled_t`). Holm over all pairs keeps the chance of any false claim at its
    level also where the claims are about the best method, which the same data have chosen;
    Holm over the comparisons with that one alone would not. A pair is tested on what both
    have, three differences at least, all of them finite.
    """
    values = np.where(present, values, 0.0)
    one, other = (np.s_[..., :, None, :, :], np.s_[..., None, :, :, :])
    common = present[one] & present[other]
    finite = np.isfinite(values)
    whole = (finite[one] & finite[other] | ~common).all((-1, -2))
    values = np.where(finite, values, 0.0)
    gaps, seeds = (values[one] - values[other]) * common, common.sum(-1)
    if values.shape[-2] > 1:
        gaps, used = gaps.sum(-1) / np.maximum(seeds, 1), seeds > 0
    else:
        gaps, used = gaps[..., 0, :], common[..., 0, :]
    count = used.sum(-1)
    mean = gaps.sum(-1) / np.maximum(count, 1)
    squares = (((gaps - mean[..., None]) * used) ** 2).sum(-1)
    std = np.sqrt(squares / np.maximum(count - 1, 1))
    tested = whole & (count >= FEWEST) & ~np.eye(values.shape[-3], dtype=bool)
    statistic = np.full(mean.shape, np.inf)
    spread = std * np.sqrt(1 / np.maximum(count, 1) + test_to_train)
    np.divide(np.abs(mean), spread, out=statistic, where=spread > 0)
    p_value = 2 * special.stdtr(np.maximum(count - 1, 1), -statistic)
    p_value[mean == 0] = 1.0
    p_value[~tested] = np.nan
    return Pairwise(mean, std, count, p_value, _adjusted(p_value))


def _adjusted(p_value: ndarray) -> ndarray:
    """Return Holm's p-values of the pairs above the diagonal, on both sides of it."""
    first, second = np.triu_indices(p_value.shape[-1], 1)
    raw = p_value[..., first, second]
    order = np.argsort(raw, axis=-1, kind="stable")  # NaN come last
    left = (~np.isnan(raw)).sum(-1, keepdims=True) - np.arange(raw.shape[-1])
    scaled = np.minimum(1, left * np.take_along_axis(raw, order, -1))
    adjusted = np.empty_like(raw)
    np.put_along_axis(adjusted, order, np.maximum.accumulate(scaled, -1), -1)
    found = np.full_like(p_value, np.nan)
    found[..., first, second] = found[..., second, first] = adjusted
    return found
