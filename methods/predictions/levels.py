"""Exact products of levels or shares with counts."""

import math
from fractions import Fraction

MOST_DENOMINATOR = 10**9


def floor_of(share: float, count: int) -> int:
    """Return ⌊share · count⌋, the share being the fraction that it was written as, such as 7/100.

    In floating point 0.29 * 100 is below 29, and 0.07 * 100 above 7. A computed share, such as
    (1 - 0.9) / 2, is the simple fraction within its rounding.
    """
    return math.floor(_exact(share) * count)


def ceil_of(share: float, count: int) -> int:
    """Return ⌈share · count⌉ in the same way."""
    return math.ceil(_exact(share) * count)


def _exact(share: float) -> Fraction:
    return Fraction(share).limit_denominator(MOST_DENOMINATOR)
