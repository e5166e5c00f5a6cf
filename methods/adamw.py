"""AdamW: a point estimate by adaptive gradient steps with decoupled weight decay.

Source: Loshchilov and Hutter (2019), "Decoupled Weight Decay Regularization".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Variants
from bnnbench.methods.fitting.optimisers import Adam
from bnnbench.methods.fitting.point_estimate import fit_point
from bnnbench.methods.fitting.settings import require_between
from bnnbench.methods.fitting.training import Schedule, check_descent
from bnnbench.methods.tuning.space import Log, Space


@dataclass(frozen=True)
class AdamW(Variants):
    """The maximum a posteriori weights; for regression, with learned noise variance."""

    card: ClassVar[Card] = Card("point estimates")
    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space(
        {"learning_rate": Log(3e-4, 1e-1), "weight_decay": Log(1e-4, 3.0)},
        length="epochs",
        learned_noise=True,
    )
    per_member: ClassVar = ("learning_rate", "weight_decay", "epochs")

    learning_rate: float = 1e-3
    weight_decay: float = 1e-2
    epochs: int = 25
    batch_size: int = 128
    schedule: Schedule = "cosine"

    def __post_init__(self) -> None:
        check_descent(self)
        require_between(self, 0.0, math.inf, "weight_decay")

    @classmethod
    def fit_side_by_side(
        cls,
        variants: "Sequence[AdamW]",
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> list[Posterior | InferenceDiverged]:
        """Return the point estimate of each problem."""
        return fit_point(variants, problems, rngs)

    @classmethod
    def optimiser(cls, variants: "Sequence[AdamW]", weights: Tensor) -> Adam:
        """Return the optimiser of stacked weights."""
        rates = [variant.learning_rate for variant in variants]
        return Adam([weights], rates, [variant.weight_decay for variant in variants])
