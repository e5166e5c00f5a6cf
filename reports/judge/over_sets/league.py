"""The scores of methods on data sets that count as random."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from bnnbench.reports.judge.over_sets.shares import SetScores, Shares, shares

FEWEST_SETS = 8
"""With fewer data sets there is no decision over sets as random."""
SAME = 1e-9
"""Sums that differ less are equal."""


@dataclass(frozen=True)
class League:
    """The scores of methods on data sets, each as one candidate for every distinct row."""

    methods: tuple[str, ...]
    sets: tuple[SetScores, ...]
    floor: float
    """Least gap between the constant and the best, in the unit of the scores."""
    seconds: Mapping[str, float]
    """method → seconds of a fit"""
    alike: Mapping[str, tuple[str, ...]]
    """method → other methods with equal scores on every split of every set"""

    @cached_property
    def shares(self) -> Shares:
        """Every method's share of the gap, and its rank, on every set."""
        return shares(self.sets, self.floor)

    @property
    def titles(self) -> list[str]:
        """The data sets' titles."""
        return [of.title for of in self.sets]

    @property
    def checksum(self) -> str:
        """The start of the SHA-256 of the sorted titles; another list of sets has another one."""
        return hashlib.sha256("\n".join(sorted(self.titles)).encode()).hexdigest()[:8]

    @cached_property
    def below(self) -> Float[ndarray, "methods sets"]:
        """The distance of each mean below the constant's, 0 if above."""
        return np.array([of.below(self.floor) for of in self.sets]).T

    def first(self, totals: Float[ndarray, " methods"]) -> int:
        """Return the method with the largest total; of several, the cheapest."""
        tied = np.flatnonzero(totals >= totals.max() - SAME)
        return int(min(tied, key=lambda m: self.seconds.get(self.methods[m], math.inf)))


def league(
    methods: Sequence[str], sets: Sequence[SetScores], floor: float, seconds: Mapping[str, float]
) -> League:
    """Return a league in which methods with equal scores everywhere are one candidate.

    Raises ValueError for fewer sets than a decision over sets needs.
    """
    if len(sets) < FEWEST_SETS:
        raise ValueError(f"a decision over data sets needs {FEWEST_SETS} of them, not {len(sets)}")
    groups: dict[bytes, list[int]] = {}
    for m in range(len(methods)):
        groups.setdefault(b"".join(of.scores[m].tobytes() for of in sets), []).append(m)
    rows = [group[0] for group in groups.values()]
    distinct = [SetScores(of.title, of.scores[rows], of.constant) for of in sets]
    alike = {methods[g[0]]: tuple(methods[m] for m in g[1:]) for g in groups.values()}
    return League(tuple(methods[m] for m in rows), tuple(distinct), floor, seconds, alike)
