"""Stochastic gradient Langevin dynamics.

Source: Welling and Teh (2011), "Bayesian Learning via Stochastic Gradient Langevin Dynamics".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, get_args

import torch

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.settings import (
    LATER,
    require_between,
    require_choice,
    require_count,
    require_positive,
)
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.networks.initialisation import Initialisation
from bnnbench.methods.predictions.levels import floor_of
from bnnbench.methods.trajectory.langevin import chains, evenly, outcomes, prior_stds
from bnnbench.methods.tuning.space import Log, Space


@dataclass(frozen=True)
class Sgld(Stacked):
    """One chain with up to `draws` weight vectors, recorded after the burn-in.

    They are evenly spaced between the end of the burn-in and the end of the chain. After t times
    the steps of the burn-in (without one, of the chain), the rate is divided by (1 + t)^`decay`.
    """

    card: ClassVar[Card] = Card("sampling")
    space: ClassVar[Space] = Space(
        {
            "learning_rate": Log(1e-3, 0.3),
            "prior_std": Log(0.1, 10.0),
            "temperature": Log(1e-3, 1.0),
        },
        length="epochs",
    )

    learning_rate: float = 0.05
    decay: float = 0.0
    """Decay of the learning rate; 0.55 is customary. Draws have equal weight, whatever the rate."""
    prior_std: float = 1.0
    temperature: float = 1.0
    """Temperature of the posterior: below 1 it is a cold one, and 0 descends without noise."""
    burn_in: float = 0.5
    """Share of the steps before the first recorded draw."""
    epochs: int = 50
    batch_size: int = 128
    draws: int = 30
    heteroscedastic: bool = True
    initialisation: Initialisation = field(default="torch", metadata=LATER)

    def __post_init__(self) -> None:
        require_choice(self, "initialisation", get_args(Initialisation))
        require_positive(self, "learning_rate", "prior_std")
        require_between(self, 0.0, math.inf, "decay", "temperature")
        require_between(self, 0.0, 1.0, "burn_in")
        require_count(self, "epochs", "batch_size", "draws")

    @property
    def prior_use(self) -> PriorUse:
        """The problem's prior is used, unless the posterior is a cold one."""
        return "given" if self.temperature == 1 else "own"

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        stack = Stack(
            problems,
            rngs,
            self.batch_size,
            heteroscedastic=self.heteroscedastic,
            initialisation=self.initialisation,
        )
        steps = self.epochs * len(stack.batches)
        burnt = floor_of(self.burn_in, steps)

        def rate(step: int) -> tuple[float, float]:
            fallen = (1 + step / (burnt or steps)) ** -self.decay
            return self.learning_rate * fallen, self.temperature

        sampled_steps = evenly(burnt, steps, self.draws)
        stds = prior_stds(self.prior_std, problems[0])
        return outcomes(stack, problems, chains(stack, self.epochs, stds, rate, sampled_steps))
