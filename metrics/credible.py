"""Coverage against credible mass: how often intervals of many networks contain a known function.

The protocol of the message passing paper (000, section 5.1): networks that differ in their seed are
fitted to the same noisy curve, and compared with the truth beyond its ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

MASSES = np.arange(1, 101) / 100
"""Masses of the intervals. The appendix starts at 0; the public code starts at 0.01."""
SIGMA_LEVELS = ((0.16, 0.84), (0.025, 0.975), (0.0015, 0.9985))
"""Lower and upper cdf levels of the intervals called 1, 2 and 3 sigma."""
SIGMAS = ("1sigma", "2sigma", "3sigma")
"""Names of these intervals, in their order."""
OUTSIDE = 10.0
"""Distance from 0 at which the sides begin, in input units."""


@dataclass(frozen=True)
class CredibleCoverage:
    """Median coverage of the central intervals of each mass, on either side of the data."""

    mass: Float[ndarray, " masses"]
    negative: Float[ndarray, " masses"]
    positive: Float[ndarray, " masses"]

    @property
    def correlations(self) -> tuple[float, float, float]:
        """Pearson correlation between mass and coverage: positive side, negative side, both.

        NaN if coverage is constant.
        """
        all_coverage = np.concatenate([self.negative, self.positive])
        return (
            _correlation(self.mass, self.positive),
            _correlation(self.mass, self.negative),
            _correlation(np.tile(self.mass, 2), all_coverage),
        )

    @property
    def biases(self) -> tuple[float, float]:
        """Mean |coverage - mass| of the positive and the negative side.

        Read it together with the correlation, which ignores a constant bias.
        """
        return (
            float(np.abs(self.positive - self.mass).mean()),
            float(np.abs(self.negative - self.mass).mean()),
        )


def credible_coverage(
    cdf_at_truth: Float[ndarray, "networks positions"],
    position: Float[ndarray, " positions"],
    mass: Float[ndarray, " masses"] = MASSES,
) -> CredibleCoverage:
    """Return the coverage of the open central intervals of each mass.

    `cdf_at_truth` is each network's predictive cdf, noise included, at the true value. The sides
    are the positions above 10 and below -10.
    """
    levels = [(0.5 - p / 2, 0.5 + p / 2) for p in mass]
    return CredibleCoverage(
        mass,
        _median_coverage(cdf_at_truth[:, position < -OUTSIDE], levels),
        _median_coverage(cdf_at_truth[:, position > OUTSIDE], levels),
    )


def sigma_coverage(
    cdf_at_truth: Float[ndarray, "networks positions"], selected: Bool[ndarray, " positions"]
) -> Float[ndarray, "3"]:
    """Return the median coverage of the 1, 2 and 3 sigma intervals over selected positions."""
    return _median_coverage(cdf_at_truth[:, selected], SIGMA_LEVELS)


def _median_coverage(cdf: ndarray, levels: Sequence[tuple[float, float]]) -> ndarray:
    if cdf.shape[1] == 0:
        raise ValueError(f"no position to score: the grid must extend beyond ±{OUTSIDE:g}")
    return np.array([np.median(((low < cdf) & (cdf < high)).mean(0)) for low, high in levels])


def _correlation(first: ndarray, second: ndarray) -> float:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])
