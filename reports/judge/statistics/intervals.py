"""Student's interval of a mean over runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from bnnbench.metrics.statistics import summary

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean, and half of its 95 % interval."""

    mean: float
    half_width: float
    count: int
    """The number of folds (or, with only one fold, of seeds)."""

    @property
    def low(self) -> float:
        """The lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """The upper end."""
        return self.mean + self.half_width


def t_interval(values: Sequence[float], overlap: float = 0.0) -> Interval | None:
    r"""Return the interval $\bar x \pm t_{n-1} s \sqrt{1/n + r}$; None for one value or infinities.

    r, the overlap, applies to values of splits that share rows (`overlap_of`). Student's t is used
    for every n: bootstrap percentiles of ten values contain the mean in 90 % of cases, not 95 %.
    """
    if len(values) < 2 or not np.isfinite(values).all():
        return None
    of = summary(np.array(values))
    reach = float(special.stdtrit(of.count - 1, (1 + CONFIDENCE) / 2))
    half_width = reach * of.std * math.sqrt(1 / of.count + overlap)
    return Interval(of.mean, half_width, of.count)


def standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of the mean; None for a single value or an infinite one."""
    if len(values) < 2 or not np.isfinite(values).all():
        return None
    return summary(np.array(values)).standard_error
