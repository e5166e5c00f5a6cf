"""Consistency bands: the range of a calibration curve if the prediction is calibrated."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy import stats

MASS = 0.95


def consistency_band(
    probability: Float[ndarray, " bins"], count: Float[ndarray, " bins"], mass: float = MASS
) -> tuple[Float[ndarray, " bins"], Float[ndarray, " bins"]]:
    r"""Return ends of intervals that jointly contain all observed shares with probability `mass`.

    A share is the frequency among `count` independent events of `probability`; quantiles of its
    binomial distribution are taken at $\alpha / 2B$, Bonferroni's correction for the B shares.
    Without events the interval is [0, 1]. The band is valid for a predictor that does not depend on
    these targets. A `count` that is not an integer is rounded down, which widens the interval.
    Source: Bröcker and Smith (2007), "Increasing the reliability of reliability diagrams".
    """
    whole = np.floor(count)
    known = (whole > 0) & np.isfinite(probability)
    tail = (1 - mass) / 2 / max(1, int(known.sum()))
    events, chance = np.where(known, whole, 1), np.clip(np.where(known, probability, 0.5), 0, 1)
    low, high = (stats.binom.ppf(level, events, chance) / events for level in (tail, 1 - tail))
    # For a probability of 0 or 1, SciPy's quantile at a lower level is -1.
    return np.where(known, np.clip(low, 0, 1), 0.0), np.where(known, np.clip(high, 0, 1), 1.0)
