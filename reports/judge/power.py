"""The power of a comparison, and the smallest difference that it is likely to detect."""

import functools
import math

from scipy import optimize, stats

POWER = 0.8


def power(
    difference: float, std: float, count: int, test_to_train: float = 0.0, level: float = 0.05
) -> float:
    r"""Return the chance that the two-sided paired t test finds a true mean difference.

    `std` is that of the differences over `count` runs or splits. With `test_to_train` the test
    is the corrected one, and the differences are as correlated as its correction assumes:
    the statistic has the noncentral t distribution of n - 1 degrees of freedom and parameter

    $$ \delta / \sqrt{(1/n + n_{test}/n_{train}) s^2}. $$
    """
    spread = std * math.sqrt(1 / count + test_to_train)
    if spread == 0:
        return 0.0 if difference == 0 else 1.0
    return _power(abs(difference) / spread, count - 1, level)


def minimum_detectable_difference(
    std: float,
    count: int,
    test_to_train: float = 0.0,
    level: float = 0.05,
    power: float = POWER,
    freedom: float | None = None,
) -> float:
    """Return the true mean difference that the two-sided paired t test finds with this power.

    Smaller ones are likely to be missed: "cannot tell with this budget". NaN for fewer than two
    differences. For one test of `m` adjusted by Holm, level/m gives the difference that is
    found whatever the other tests find. `freedom` is that of a moderated `std`, else n - 1.
    """
    if count < 2 or math.isnan(std):
        return math.nan
    spread = std * math.sqrt(1 / count + test_to_train)
    tenths = round(
        count - 1.0 if freedom is None else freedom, 1
    )  # rounded, so that the cache needs few values
    return spread * _noncentrality(tenths, level, power)


def _power(noncentrality: float, freedom: float, level: float) -> float:
    critical = stats.t.isf(level / 2, freedom)
    upper = stats.nct.sf(critical, freedom, noncentrality)
    # Beyond 4 the other tail is next to nothing, and scipy may return NaN for it.
    lower = stats.nct.cdf(-critical, freedom, noncentrality) if noncentrality < 4 else 0.0
    return float(upper + lower)


@functools.lru_cache(maxsize=4096)
def _noncentrality(freedom: float, level: float, power: float) -> float:
    """Return the parameter at which the test of this level has this power."""
    high = 2.0
    while _power(high, freedom, level) < power:
        high *= 2
    root = optimize.brentq(lambda at: _power(at, freedom, level) - power, 0.0, high, xtol=1e-10)
    assert isinstance(root, float)
    return root
