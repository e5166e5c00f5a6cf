"""Stochastic gradient descent with momentum: a point estimate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import optimisers
from bnnbench.methods.fitting.batched import Variants
from bnnbench.methods.fitting.point_estimate import fit_point
from bnnbench.methods.fitting.settings import require_between
from bnnbench.methods.fitting.training import Schedule, check_descent
from bnnbench.methods.tuning.space import Log, Space


@dataclass(frozen=True)
class Sgd(Variants):
    """The maximum a posteriori weights; for regression, with learned noise variance.

    A regression's loss is multiplied by the noise variance, which leaves half the squared
    error: otherwise steps would grow without bound as the learned noise shrinks.
    """

    card: ClassVar[Card] = Card("point estimates")
    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space(
        {"learning_rate": Log(1e-3, 1.0), "weight_decay": Log(1e-6, 1e-2)},
        length="epochs",
        learned_noise=True,
    )
    per_member: ClassVar = ("learning_rate", "weight_decay", "epochs")

    learning_rate: float = 0.05
    momentum: float = 0.9
    weight_decay: float = 5e-4
    epochs: int = 25
    batch_size: int = 128
    schedule: Schedule = "cosine"

    def __post_init__(self) -> None:
        check_descent(self)
        require_between(self, 0.0, 1.0, "momentum")
        require_between(self, 0.0, math.inf, "weight_decay")

    @classmethod
    def fit_side_by_side(
        cls,
        variants: "Sequence[Sgd]",
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> list[Posterior | InferenceDiverged]:
        """Return the point estimate of each problem."""
        return fit_point(variants, problems, rngs, times_noise_variance=True)

    @classmethod
    def optimiser(cls, variants: "Sequence[Sgd]", weights: Tensor) -> optimisers.Sgd:
        """Return the optimiser of stacked weights."""
        rates = [variant.learning_rate for variant in variants]
        decays = [variant.weight_decay for variant in variants]
        return optimisers.Sgd([weights], rates, decays, variants[0].momentum)
