"""Scales of columns: those constant up to rounding, and those too extreme to standardise."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.typing import ArrayLike
from torch import Tensor

from bnnbench.datasets.errors import ExtremeScale

SMALLEST, LARGEST = 1e-140, 1e140
"""Bounds of a column's largest magnitude, within which float64 holds sums of squares."""


def is_constant(mean: ArrayLike, std: ArrayLike, rows: int) -> np.ndarray:
    r"""Return whether numbers with this mean and deviation vary only by the rounding of float64.

    The error of a computed variance v of n numbers bounds it:
    $$ v \le n \epsilon v + (n \epsilon \bar x)^2 $$

    Sources: Chan, Golub and LeVeque (1983), "Algorithms for Computing the Sample Variance";
    scikit-learn's StandardScaler.
    """
    rounding = rows * np.finfo(np.float64).eps
    variance, square = np.square(std), np.square(mean)
    return np.asarray(variance <= rounding * variance + rounding**2 * square)


def require_ordinary_sizes(
    train: Float[ndarray, "train columns"],
    test: Float[ndarray, "test columns"],
    names: Sequence[str],
) -> None:
    """Raise `ExtremeScale` for a column whose squares leave float64's range.

    Columns of zeros in training, and small numbers in the test rows, are allowed.
    """
    size, test_size = _largest(train), _largest(test)
    extreme = (size > LARGEST) | (test_size > LARGEST) | ((size > 0) & (size < SMALLEST))
    for place in np.flatnonzero(extreme).tolist():
        largest = max(size[place], test_size[place])
        raise ExtremeScale(
            f"column {names[place]!r} has numbers of size {largest:.3g}; standardising needs sizes "
            f"from {SMALLEST:g} to {LARGEST:g}: change its unit, correct these rows, or drop it"
        )


def single(values: Float[Tensor, "rows columns"], names: Sequence[str]) -> Tensor:
    """Return standardised columns in float32; raises `ExtremeScale` if a number is beyond it."""
    result = values.float()
    for place in result.isinf().any(0).nonzero().flatten().tolist():
        raise ExtremeScale(
            f"column {names[place]!r} has a row that is {float(values[:, place].abs().max()):.3g} "
            "training deviations from the training mean, which is beyond float32: correct or "
            "remove the row, or drop the column"
        )
    return result


def _largest(values: ndarray) -> ndarray:
    """Return the largest magnitude of each column."""
    return np.maximum(values.max(0), -values.min(0))
