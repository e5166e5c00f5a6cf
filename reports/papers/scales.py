"""The scale of printed errors whose paper does not state it, found by the size of ours.

Errors of a regression are printed in the unit of the target as prepared, or in its standard
deviations. Ours, of the same methods, are near the printed ones on one of these scales only, unless
the deviation is about 1 and the scales are one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bnnbench.metrics.statistics import mean

UNSTATED = "as_printed_mixed_scale"
"""The unit of a printed number whose scale the paper does not state."""
IN_UNITS: Mapping[tuple[str, str], frozenset[str]] = {
    ("002", "6"): frozenset(
        {"elevators", "keggdirected", "keggundirected", "pol", "protein", "skillcraft"}
    )
}
"""paper, table → the data sets with printed errors in the unit of the prepared target, by `Sizes`.
"""
NEAR = math.log(1.5)
"""Maximum distance of a mean ratio from 1, in logarithms."""
ONE_SCALE = math.log(1.1)
"""Below it, the logarithm of a deviation is too near 0 to tell the scales apart."""


@dataclass(frozen=True)
class Sizes:
    """Printed errors on one data set with ours, of the same methods, in the target's unit."""

    std: float
    """Standard deviation of the target."""
    pairs: Sequence[tuple[float, float]]
    """Printed error and ours, by method."""

    @property
    def in_units(self) -> float:
        """Geometric mean of the printed errors divided by ours in the target's unit."""
        return math.exp(mean([math.log(printed / ours) for printed, ours in self.pairs]))

    @property
    def in_deviations(self) -> float:
        """The same divided by ours in standard deviations of the target."""
        return self.in_units * self.std

    @property
    def holds(self) -> bool:
        """True if the printed errors are in the target's unit."""
        units, deviations = (abs(math.log(r)) for r in (self.in_units, self.in_deviations))
        return units < NEAR and (units < deviations or abs(math.log(self.std)) < ONE_SCALE)


def is_known(paper: str, table: str, dataset: str) -> bool:
    """Return whether errors of unstated scale are in the target's unit."""
    return dataset in IN_UNITS.get((paper, table), ())
