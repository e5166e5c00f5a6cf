"""The number of runs needed to decide whether a method is worse than the leader."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from scipy import special

POWER = 0.8
MOST_RUNS = 10_000
TAIL = 0.1
"""The share of variances left out at either end of the range."""


@dataclass(frozen=True)
class Pair:
    """An undecided comparison: its gap, its variance over runs, and its irreducible error."""

    gap: float
    variance: float
    """The variance of one run's difference."""
    freedom: float
    runs: int
    """The number of runs that `variance` was estimated from."""
    fixed: float = 0.0
    """The part of the squared error due to test points, which more runs do not reduce."""
    fixed_parts: float = 0.0
    """The test points' squared error, squared, over its degrees of freedom."""
    overlap: float = 0.0
    """Factor by which shared rows widen errors over splits (`overlap_of`)."""

    def squared_error(self, runs: int) -> float:
        """Return the squared standard error of the mean difference over this many runs."""
        return self.variance * (1 / runs + self.overlap) + self.fixed

    @property
    def lasting_error(self) -> float:
        """The standard error that remains after infinitely many runs."""
        return math.sqrt(self.variance * self.overlap + self.fixed)

    def freedom_of(self, runs: int) -> float:
        """Return the degrees of freedom over this many runs."""
        scaled = self.freedom * (runs - 1) / (self.runs - 1)
        if not self.fixed_parts:
            return scaled
        of_runs = self.variance / runs
        return (of_runs + self.fixed) ** 2 / (of_runs**2 / scaled + self.fixed_parts)


@dataclass(frozen=True)
class Plan:
    """The runs that would decide a pair; infinite: never; above `MOST_RUNS`: too many."""

    needed: float
    low: float
    high: float
    points_limit: bool = False
    """True if there are too few test points for any number of runs."""
    sure: float = math.inf
    """The number of runs after which the pair is decided, whatever the truth."""


def plan(pair: Pair, level: float, left: int, rivals: int, margin: float | None) -> Plan:
    """Return the number of runs that decide a pair with power 0.8, and its range.

    `left` methods may still be the best, and `rivals` were compared with it. The observed gap is
    taken as true; the range comes from an 80 % interval of the variance.
    """
    alpha = level / (left * (left - 1))
    low, high = (
        pair.variance * pair.freedom / _quantile(q, pair.freedom) for q in (1 - TAIL, TAIL)
    )
    needed, fewest, most = (
        _needed(replace(pair, variance=variance), alpha) for variance in (pair.variance, low, high)
    )
    sure = math.inf if margin is None else _sure(pair, alpha, level / rivals, margin)
    return Plan(needed, fewest, most, math.isinf(needed) and pair.fixed > 0, sure)


def power(pair: Pair, runs: int, alpha: float) -> float:
    """Return the chance that the one-sided test of this level detects the gap."""
    error, freedom = math.sqrt(pair.squared_error(runs)), pair.freedom_of(runs)
    if error == 0:
        return 1.0 if pair.gap > 0 else 0.0
    critical = -float(special.stdtrit(freedom, alpha))
    missed = float(special.nctdtr(freedom, pair.gap / error, critical))
    return 1.0 if math.isnan(missed) else 1.0 - missed  # scipy: NaN in the far tail, not 0


def _needed(pair: Pair, alpha: float) -> float:
    reach = _normal(alpha) + _normal(1 - POWER)
    if pair.gap < reach * pair.lasting_error:
        return math.inf
    return _first(lambda runs: power(pair, runs, alpha) >= POWER)


def _sure(pair: Pair, alpha: float, equal_alpha: float, margin: float) -> float:
    """Return the runs that make an interval too short to contain both 0 and the margin."""
    if (_normal(alpha) + _normal(equal_alpha)) * pair.lasting_error > margin:
        return math.inf

    def is_short(runs: int) -> bool:
        freedom = pair.freedom_of(runs)
        reach = special.stdtrit(freedom, alpha) + special.stdtrit(freedom, equal_alpha)
        return -float(reach) * math.sqrt(pair.squared_error(runs)) <= margin

    return _first(is_short)


def _first(holds: Callable[[int], bool]) -> float:
    """Return the first number of runs (2 or more) from which on a condition holds."""
    if not holds(MOST_RUNS):
        return MOST_RUNS + 1
    low, high = 1, 2
    while not holds(high):
        low, high = high, min(2 * high, MOST_RUNS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _quantile(level: float, freedom: float) -> float:
    return float(special.chdtri(freedom, 1 - level))


def _normal(tail: float) -> float:
    return -float(special.ndtri(tail))
