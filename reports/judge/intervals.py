"""Confidence intervals of a mean."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy import special, stats

from bnnbench.metrics.statistics import summary

DRAWS, BATCH_VALUES = 10_000, 2**22
FEWEST_FOR_BOOTSTRAP, FEWEST_FOR_BCA = 10, 20
Kind = Literal["t", "percentile", "bca"]


@dataclass(frozen=True)
class Interval:
    """A confidence interval of a mean, its kind, and the units that were resampled."""

    low: float
    high: float
    kind: Kind
    resampled: Literal["splits", "points"]


def mean_interval(
    values: Float[ndarray, " values"],
    resampled: Literal["splits", "points"],
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return the interval that suits the number of values.

    Student's below 10 values, the bootstrap's percentiles below 20, BCa from there on.
    `resampled` says what a value is: one split, or one test point of a single split.
    """
    if len(values) < FEWEST_FOR_BOOTSTRAP:
        kind, ends = "t", t_interval(values, confidence)
    elif len(values) < FEWEST_FOR_BCA:
        kind, ends = "percentile", percentile_interval(values, confidence, seed)
    else:
        kind, ends = "bca", bca_interval(values, confidence, seed)
    return Interval(*ends, kind, resampled)


def t_interval(values: Float[ndarray, " values"], confidence: float = 0.95) -> tuple[float, float]:
    """Return Student's interval; NaN for one value."""
    of = summary(values)
    if of.count < 2:
        return math.nan, math.nan
    reach = stats.t.ppf((1 + confidence) / 2, of.count - 1) * of.standard_error
    return of.mean - float(reach), of.mean + float(reach)


def percentile_interval(
    values: Float[ndarray, " values"], confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return percentiles of the mean over 10000 resamples with replacement."""
    low, high = np.quantile(_resampled_means(values, seed), _tails(confidence))
    return float(low), float(high)


def bca_interval(
    values: Float[ndarray, " values"], confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return bootstrap percentiles corrected for bias and acceleration.

    Source: Efron (1987), "Better bootstrap confidence intervals".
    """
    means, deviation = _resampled_means(values, seed), values - values.mean()
    spread = (deviation**2).sum()
    if spread == 0:
        return float(values[0]), float(values[0])
    below = ((means < values.mean()).mean() + (means <= values.mean()).mean()) / 2
    bias = special.ndtri(below)
    acceleration = (deviation**3).sum() / (6 * spread**1.5)
    z = bias + special.ndtri(_tails(confidence))
    low, high = np.quantile(means, special.ndtr(bias + z / (1 - acceleration * z)))
    return float(low), float(high)


def _tails(confidence: float) -> ndarray:
    return np.array([(1 - confidence) / 2, (1 + confidence) / 2])


def _resampled_means(values: ndarray, seed: int) -> ndarray:
    rng, size = np.random.default_rng(seed), max(1, BATCH_VALUES // len(values))
    batches = [min(size, DRAWS - done) for done in range(0, DRAWS, size)]
    return np.concatenate(
        [values[rng.integers(len(values), size=(batch, len(values)))].mean(1) for batch in batches]
    )
