"""A prediction as a distribution of function values, separated from the targets' noise."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float64, Int
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer, Predictive
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.metrics.distances import Tabulated

ROUNDING = 1e-4
"""Fraction of the noise variance below which a component's own variance counts as rounding, since
predictions may be in single precision."""


@dataclass(frozen=True)
class FunctionValues:
    """An equal-weight mixture of Gaussians for the noiseless function at each point.

    Components without variance are draws. Everything is in standardised target units and float64.
    """

    means: Float64[Tensor, "components points"]
    variances: Float64[Tensor, "components points"]
    noise_std: float

    @property
    def are_draws(self) -> bool:
        """True if every component is the value of one function."""
        return not self.variances.any()

    @cached_property
    def mean(self) -> Float64[Tensor, " points"]:
        """The mean at each point."""
        return self.means.mean(0)

    @cached_property
    def std(self) -> Float64[Tensor, " points"]:
        """The epistemic standard deviation at each point."""
        return (self.variances.mean(0) + self.means.var(0, correction=0)).sqrt()

    @property
    def predictive(self) -> GaussianPredictive:
        """The distribution of targets: function plus noise."""
        variances = self.variances + self.noise_std**2
        return GaussianPredictive(self.means[..., None], variances[..., None])

    def of(self, draws: Int[Tensor, " draws"]) -> "FunctionValues":
        """Return the mixture of only these components."""
        return FunctionValues(self.means[draws], self.variances[draws], self.noise_std)


@dataclass(frozen=True)
class Truth:
    """Draws of functions from a posterior, with the groups and directions of joint scores."""

    functions: FunctionValues
    groups: Int[Tensor, "groups size"]
    """Points of each group."""
    directions: Float64[Tensor, "directions points"]
    """Unit vectors over all points."""

    @cached_property
    def tabulated(self) -> Tabulated:
        """The predictive distribution on a grid for each point."""
        return Tabulated(self.functions.predictive)

    def of(self, draws: Int[Tensor, " draws"]) -> "Truth":
        """Return the truth with only these draws."""
        return Truth(self.functions.of(draws), self.groups, self.directions)


def function_values(prediction: Predictive, noise_std: float) -> FunctionValues:
    """Return the function behind a prediction of noisy targets, in standardised units.

    Raises `CannotAnswer` if the prediction is not a mixture of Gaussians or has less variance than
    the noise; ValueError for several outputs.
    """
    if not isinstance(prediction, GaussianPredictive):
        kind: Any = type(prediction).__name__
        raise CannotAnswer(f"needed a mixture of Gaussians with noise; got a {kind}")
    if prediction.means.shape[2] != 1:
        raise ValueError(
            f"a reference has one output; got predictions of {prediction.means.shape[2]}"
        )
    means, totals = prediction.means[..., 0].double(), prediction.variances[..., 0].double()
    variances = totals - noise_std**2
    if (variances < -ROUNDING * noise_std**2).any():
        least = math.sqrt(float(totals.min()))
        raise CannotAnswer(
            f"needed predictions with the model's noise of {noise_std:.4g}; got a standard "
            f"deviation of {least:.4g}"
        )
    rounded = torch.where(variances < ROUNDING * noise_std**2, 0.0, variances)
    return FunctionValues(means, rounded, noise_std)


def require_points(prediction: FunctionValues, truth: Truth) -> None:
    """Raise ValueError unless both have equally many points."""
    given, needed = prediction.means.shape[1], truth.functions.means.shape[1]
    if given != needed:
        raise ValueError(f"got {given} predictions; the reference has {needed}")
