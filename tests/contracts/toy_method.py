"""Nearest neighbours: the distribution of the targets of the k training points next to an input.

Source: Cover and Hart (1967), "Nearest Neighbor Pattern Classification".
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import Posterior, Problem, Unsupported
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    Predictive,
)


@dataclass(frozen=True)
class NeighbourPosterior:
    """The training points themselves, and how far their own neighbours were off."""

    problem: Problem
    neighbours: int
    residual_variance: Float[Tensor, " outputs"] | None

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """The leave-one-out error of a regression."""
        if self.residual_variance is None:
            return {}
        return {"noise_std": float(self.residual_variance.mean().sqrt())}

    def predict(self, inputs: Float[Tensor, "points *features"], rng: Generator) -> Predictive:
        """Return a single draw: neighbours are counted, nothing is sampled."""
        train, likelihood = self.problem.train, self.problem.likelihood
        near = train.targets[nearest(inputs, train.inputs, self.neighbours)]
        if isinstance(likelihood, Categorical):
            counts = torch.nn.functional.one_hot(near, likelihood.classes).sum(1) + 1
            probs = counts.to(inputs.dtype) / (self.neighbours + likelihood.classes)
            return CategoricalPredictive(probs.log()[None])
        assert self.residual_variance is not None
        mean = near.mean(1)
        return GaussianPredictive(mean[None], self.residual_variance.expand_as(mean)[None])


@dataclass(frozen=True)
class NearestNeighbours:
    """Class frequencies by the rule of succession; or the mean, with leave-one-out variance."""

    neighbours: int = 5

    def fit(self, problem: Problem, rng: Generator) -> Posterior:
        """Return the posterior; raises `Unsupported` for fewer rows than neighbours."""
        train, count = problem.train, self.neighbours
        if len(train) <= count:
            raise Unsupported(f"{count} neighbours need more rows than {len(train)}")
        if isinstance(problem.likelihood, Categorical):
            return NeighbourPosterior(problem, count, None)
        others = nearest(train.inputs, train.inputs, count + 1)[:, 1:]
        residuals = train.targets - train.targets[others].mean(1)
        return NeighbourPosterior(problem, count, residuals.square().mean(0))


def nearest(
    points: Float[Tensor, "points *features"], rows: Float[Tensor, "rows *features"], count: int
) -> Int[Tensor, "points neighbours"]:
    """Return the numbers of the `count` rows next to each point, nearest first."""
    distances = torch.cdist(
        points.flatten(1), rows.flatten(1), compute_mode="donot_use_mm_for_euclid_dist"
    )
    return distances.topk(count, largest=False).indices
