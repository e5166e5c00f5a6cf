"""Scores of methods on many data sets, each on a scale from a constant to the best method."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
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
