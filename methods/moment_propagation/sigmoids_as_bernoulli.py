"""A trained network of sigmoids, read as one of random bits: a sigmoid belief network.

A sigmoid is then the probability that its unit is 1. Source: paper 001, section 3.3 and the rows
"Logistic Bernoulli" of tables 2 and 3.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from bnnbench.methods.base import Problem
from bnnbench.methods.card import Card
from bnnbench.methods.moment_propagation.approximation import ApproximatePosterior, Approximation
from bnnbench.methods.networks.architectures import (
    Architecture,
    Layer,
    LogisticBernoulli,
    Residual,
    Sigmoid,
)


@dataclass(frozen=True)
class SigmoidsAsBernoulli(Approximation):
    """A network whose logistic Bernoulli units are trained as sigmoids, without their noise.

    Predictions, propagated moments and samples are those of the network with the random units.
    """

    card: ClassVar[Card] = Card(
        "moments",
        problems=("mlp classification", "cnn classification"),
        gradients=False,
        restarts="its last fit is kept in memory, for every way to propagate",
    )

    def fit(self, problem: Problem, rng: torch.Generator) -> ApproximatePosterior:
        """Return the posterior; raises `InferenceDiverged` if weights overflow.

        Raises `Unsupported` for a regression.
        """
        sigmoids = replace(problem, architecture=with_sigmoids(problem.architecture))
        return replace(super().fit(sigmoids, rng), architecture=problem.architecture)


def with_sigmoids(architecture: Architecture) -> Architecture:
    """Return the network with a sigmoid in place of every logistic Bernoulli unit."""
    return tuple(map(_with_sigmoids, architecture))


def _with_sigmoids(layer: Layer) -> Layer:
    if isinstance(layer, Residual):
        return Residual(with_sigmoids(layer.body), with_sigmoids(layer.shortcut))
    return Sigmoid() if isinstance(layer, LogisticBernoulli) else layer
