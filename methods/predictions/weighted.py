"""A mixture of Gaussians whose weights depend on the point, as in kernel density estimates."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import Packed
from bnnbench.methods.predictions.predictive import in_chunks

ROUNDING = 1e-3
"""Largest distance of a sum of weights from 1 that is corrected, as in single precision."""


@dataclass(frozen=True)
class WeightedGaussianPredictive(Packed):
    """A weighted mixture of Gaussians at every point; components are not functions of the input.

    Everything is computed in float64, with weights divided by their sum. Given a component, outputs
    are independent; a row of outputs is one event. Raises ValueError unless variances are
    positive, and weights are not negative and sum to 1.
    """

    weights: Float[Tensor, "components points"]
    means: Float[Tensor, "components points outputs"]
    variances: Float[Tensor, "components points outputs"]
    """Variances of the components, including the observation noise."""

    of_classes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        sums = self.weights.double().sum(0)
        if (self.weights < 0).any() or ((sums - 1).abs() > ROUNDING).any():
            worst = float(sums[(sums - 1).abs().argmax()])
            raise ValueError(
                "needed weights of 0 or more that sum to 1 at every point; got a least weight of "
                f"{float(self.weights.min()):.6g} and a sum of {worst:.6g}"
            )
        if (self.variances <= 0).any():
            raise ValueError(f"needed positive variances; got {float(self.variances.min()):.6g}")

    def __len__(self) -> int:
        return self.weights.shape[1]

    @property
    def mean(self) -> Float64[Tensor, "points outputs"]:
        """The mean of the mixture."""
        return in_chunks(_mean, self.weights, self.means)

    @property
    def variance(self) -> Float64[Tensor, "points outputs"]:
        """The variance of the mixture: mean of variances plus variance of means."""
        return in_chunks(_variance, self.weights, self.means, self.variances)

    def log_prob(self, target: Float[Tensor, "points outputs"]) -> Float64[Tensor, " points"]:
        """Return the log density of each target; a row of outputs is one event."""
        return in_chunks(_log_prob, self.weights, self.means, self.variances, target[None])

    def cdf(self, target: Float[Tensor, "points outputs"]) -> Float64[Tensor, "points outputs"]:
        """Return P(y ≤ target) of each output."""
        return in_chunks(_cdf, self.weights, self.means, self.variances, target[None])

    def rescaled(self, mean: float | Tensor, std: float | Tensor) -> "WeightedGaussianPredictive":
        """Return the distribution of mean + std * y, numbers or one of each output."""
        means = mean + std * self.means.double()
        return WeightedGaussianPredictive(self.weights, means, std**2 * self.variances.double())


def shares(weights: Float[Tensor, "components points"]) -> Float64[Tensor, "components points"]:
    """Return weights divided by their sum at every point."""
    return weights.double() / weights.double().sum(0)


def _mean(weights: Tensor, means: Tensor) -> Tensor:
    return (shares(weights)[..., None] * means.double()).sum(0)


def _variance(weights: Tensor, means: Tensor, variances: Tensor) -> Tensor:
    deviations = means.double() - _mean(weights, means)
    return _mean(weights, variances.double() + deviations.square())


def _log_prob(weights: Tensor, means: Tensor, variances: Tensor, target: Tensor) -> Tensor:
    variances = variances.double()
    squares = (target.double() - means.double()).square() / variances
    each = -0.5 * (squares + variances.log() + math.log(2 * math.pi))
    return (shares(weights).log() + each.sum(-1)).logsumexp(0)


def _cdf(weights: Tensor, means: Tensor, variances: Tensor, target: Tensor) -> Tensor:
    z = (target.double() - means.double()) / variances.double().sqrt()
    # torch.special.ndtr is 0 from -8.3 on.
    return (shares(weights)[..., None] * 0.5 * torch.special.erfc(-z / math.sqrt(2))).sum(0)
