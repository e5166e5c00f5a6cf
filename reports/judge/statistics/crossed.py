"""Seeds and test points as crossed random effects: errors of mean differences between methods."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from bnnbench.reports.judge.statistics.elimination import Errors
from bnnbench.reports.judge.statistics.moderation import Differences, differences


class OfPoints(NamedTuple):
    """Mean squares of all pairs' differences over a set of points."""

    variance: Float[ndarray, "methods methods"]
    """P, the variance over points of the differences averaged over seeds."""
    interaction: Float[ndarray, "methods methods"]
    """I, the mean square of the interaction between seeds and points."""
    points: int


class Crossed:
    """Methods' scores by seed, and the contribution of test points to their differences.

    A score that is a mean over several independent sets of points (an AUROC has outliers and
    inliers) has several `sets`.
    """

    def __init__(self, scores: Float[ndarray, "methods seeds"], sets: Sequence[OfPoints]) -> None:
        self.seeds = scores.shape[1]
        self.points = sum(of.points for of in sets)
        self.runs: Differences | None = differences(scores) if self.seeds > 1 else None
        self.means = scores.mean(1)
        self._sets = sets

    @property
    def floor(self) -> Float[ndarray, "methods methods"]:
        """The minimum variance of a run's mean difference: its points' interaction, I/N."""
        return np.sum([i / n for _, i, n in self._sets], axis=0)

    @property
    def of_seeds(self) -> Float[ndarray, "methods methods"]:
        """The squared error due to seeds, q₁."""
        assert self.runs is not None, "one seed says nothing of others"
        return np.maximum(self.runs.variance, self.floor) / self.seeds

    @property
    def of_points(self) -> Float[ndarray, "methods methods"]:
        """The squared error due to points, q₂."""
        return np.sum([p / n for p, _, n in self._sets], axis=0)

    @property
    def parts_of_points(self) -> Float[ndarray, "methods methods"]:
        """The square of each factor's q₂ over its degrees of freedom, summed."""
        return np.sum([(p / n) ** 2 / (n - 1) for p, _, n in self._sets], axis=0)

    @property
    def lasting(self) -> Float[ndarray, "methods methods"]:
        """The part of the squared error that more seeds do not reduce, q₂ - q₁₂."""
        return np.maximum(self.of_points - self.floor / self.seeds, 0.0)

    @property
    def freedom_of_seeds(self) -> Float[ndarray, "methods methods"]:
        """Degrees of freedom of q₁."""
        assert self.runs is not None, "one seed says nothing of others"
        return self.runs.freedom

    def these_networks(self) -> Errors:
        """Return errors for new test points and the same trained networks: P/N."""
        gaps = self.means[:, None] - self.means[None]
        return Errors(gaps, self.of_points, _freedom(self.of_points, self.parts_of_points))

    def both(self) -> Errors:
        r"""Return errors for new seeds and new test points.

        $$ \max(q_1 + q_2 - q_{12}, q_1, q_2), \quad q_1 = \max(V, I/N)/S, \; q_2 = P/N, \;
           q_{12} = I/(S N) $$

        with Satterthwaite's degrees of freedom. V and P both contain the interaction I.
        """
        assert self.runs is not None, "one seed says nothing of others"
        of_seeds = self.of_seeds
        total = of_seeds + self.of_points - self.floor / self.seeds
        total = np.maximum(total, np.maximum(of_seeds, self.of_points))
        parts = of_seeds**2 / self.runs.freedom + self.parts_of_points
        return Errors(self.runs.mean, total, _freedom(total, parts))


def over_points(scores: Float[ndarray, "methods seeds points"]) -> OfPoints:
    """Return the mean squares of scores whose mean over points is the run's score."""
    methods, seeds, points = scores.shape
    of_runs, of_points = scores.mean(2), scores.mean(1)
    rest = scores - of_runs[:, :, None] - of_points[:, None] + scores.mean((1, 2))[:, None, None]
    rest = rest.reshape(methods, -1)
    interaction = np.zeros((methods, methods))
    if seeds > 1:
        interaction = np.maximum(_between(rest @ rest.T) / ((seeds - 1) * (points - 1)), 0.0)
    return OfPoints(_variances(of_points), interaction, points)


def over_draws(draws: Float[ndarray, "methods seeds draws"], points: int) -> OfPoints:
    """Return the mean squares of scores that are given on bootstrap draws of the points.

    The variance over draws contains the interaction, which is not subtracted again; this errs on
    the safe side.
    """
    variance = points * _variances(draws.mean(1))
    return OfPoints(variance, np.zeros_like(variance), points)


def _variances(values: Float[ndarray, "methods values"]) -> Float[ndarray, "methods methods"]:
    centred = values - values.mean(1, keepdims=True)
    return np.maximum(_between(centred @ centred.T) / (values.shape[1] - 1), 0.0)


def _between(gram: ndarray) -> ndarray:
    """Return the squared distance of each pair of rows from their inner products."""
    squares = np.diag(gram)
    return squares[:, None] + squares[None] - 2 * gram


def _freedom(squared: ndarray, parts: ndarray) -> ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(squared > 0, squared**2 / parts, 1.0)
