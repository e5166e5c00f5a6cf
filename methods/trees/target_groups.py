"""Training targets in at most some hundreds of groups of close values."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

MOST = 512
"""Maximum number of groups."""


@dataclass(frozen=True)
class TargetGroups:
    """The group of each row, and the mean and variance of the targets in each group."""

    of_rows: Int64[np.ndarray, " rows"]
    means: Float64[np.ndarray, " groups"]
    variances: Float64[np.ndarray, " groups"]

    @classmethod
    def of(cls, targets: Float64[np.ndarray, " rows"], most: int = MOST) -> "TargetGroups":
        """Return a group for each distinct target if there are at most `most`.

        Otherwise groups are equally wide in the inverse hyperbolic sine of the distance from the
        median in interquartile ranges, so that an outlier does not make them all wide.
        """
        values, of_rows = np.unique(targets, return_inverse=True)
        if len(values) > most:
            low, middle, high = np.quantile(targets, (0.25, 0.5, 0.75))
            places = np.arcsinh((targets - middle) / ((high - low) or targets.std()))
            edges = np.linspace(places.min(), places.max(), most + 1)[1:-1]
            of_rows = np.unique(np.searchsorted(edges, places), return_inverse=True)[1]
        sizes = np.bincount(of_rows)
        means = np.bincount(of_rows, targets) / sizes
        squares = np.bincount(of_rows, np.square(targets - means[of_rows]))
        return cls(of_rows.astype(np.int64), means, squares / sizes)
