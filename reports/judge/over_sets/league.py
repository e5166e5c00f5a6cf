"""The scores of methods on data sets that count as random, as shares of the way to the best."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from scipy import stats


@dataclass(frozen=True)
class SetScores:
    """The scores of methods on the splits of one data set; higher is better."""

    title: str
    scores: Float[ndarray, "methods splits"]
    """NaN or infinite: the fit failed, diverged or has no finite score."""
    constant: Float[ndarray, " splits"]
    """Scores of the prediction that ignores the inputs."""

    @property
    def gains(self) -> Float[ndarray, "methods splits"]:
        """The scores less the constant's, paired by split; NaN for a failure."""
        gains = self.scores - self.constant
        return np.where(np.isfinite(gains), gains, np.nan)

    def gap(self, floor: float) -> float:
        """Return the largest mean gain of a method with all splits, at least `floor`."""
        return max(float(np.max(np.where(self._whole, self._means, -np.inf))), floor)

    def cut(self, floor: float) -> Float[ndarray, " methods"]:
        """Return mean gains in which no split, and no failure, counts less than minus the gap."""
        gap = self.gap(floor)
        return np.fmax(np.nan_to_num(self.gains, nan=-gap), -gap).mean(1)

    def below(self, floor: float) -> Float[ndarray, " methods"]:
        """Return the distance of each mean below the constant; 0 if it is not below."""
        return np.fmax(-np.where(self._whole, self._means, self.cut(floor)), 0.0)

    @property
    def _whole(self) -> ndarray:
        return np.asarray(~np.isnan(self.gains).any(1))

    @property
    def _means(self) -> ndarray:
        return np.nan_to_num(self.gains).mean(1)


@dataclass(frozen=True)
class Shares:
    """Every method's share of the gap, and its rank, on every data set."""

    u: Float[ndarray, "methods sets"]
    """0: no better than the constant; 1: the best."""
    ranks: Float[ndarray, "methods sets"]
    """Rank of the mean gain over the number of methods; 1 is best, ties share."""


def shares(sets: Sequence[SetScores], floor: float) -> Shares:
    r"""Return shares of the gap and ranks on every data set.

    With mean gains $\bar g_{mf}$ over the constant, cut at minus the gap G of the set,

    $$ u_m = \min(1, \max(0, \operatorname{mean}_f \max(g_{mf}, -G) / G)). $$

    The floor keeps a set without signal from counting as much as one with signal.
    """
    cut = [of.cut(floor) for of in sets]
    u = [np.clip(c / of.gap(floor), 0.0, 1.0) for c, of in zip(cut, sets, strict=True)]
    ranks = [stats.rankdata(np.round(c, 12)) / len(c) for c in cut]
    return Shares(np.array(u).T, np.array(ranks).T)


FEWEST_SETS = 8
"""With fewer data sets there is no decision over sets as random."""
SAME = 1e-9
"""Sums that differ less are equal."""


def first_largest(totals: Float[ndarray, "*_ candidates"]) -> Int[ndarray, "*_"]:
    """Return the first candidate with the largest total, however sums of equal terms are rounded.

    In which order a product of matrices adds depends on the processor.
    """
    return (totals >= totals.max(-1, keepdims=True) - SAME).argmax(-1)


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
