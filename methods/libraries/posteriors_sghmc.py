"""Stochastic gradient Hamiltonian Monte Carlo by the library posteriors.

Source: Chen, Fox and Guestrin (2014), "Stochastic Gradient Hamiltonian Monte Carlo".
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch

from bnnbench.methods.base import Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.libraries.adapter import (
    SEQUENTIAL,
    OfLibrary,
    fitted,
    initial_weights,
    require_layers,
)
from bnnbench.methods.tuning.space import Log, Space


@dataclass(frozen=True)
class PosteriorsSghmc(OfLibrary):
    """Stochastic gradient HMC by posteriors: `draws` weight vectors of one chain on minibatches."""

    card: ClassVar[Card] = Card("sampling")
    label: ClassVar[str] = "posteriors: SGHMC"
    library: ClassVar[str] = "posteriors"
    script: ClassVar[str] = "bnnbench.methods.libraries.inside.posteriors_sghmc"
    space: ClassVar[Space] = Space(
        {"learning_rate": Log(1e-3, 0.3), "friction": Log(0.1, 10.0), "prior_std": Log(0.1, 10.0)},
        length="epochs",
        learned_noise=True,
    )

    learning_rate: float = 0.02
    friction: float = 1.0
    """Share of the momentum lost per unit of time."""
    prior_std: float = 1.0
    """Prior standard deviation of all weights, if the problem states no prior."""
    temperature: float = 1.0
    burn_in: float = 0.5
    """Share of the steps before the first recorded draw."""
    epochs: int = 50
    batch_size: int = 128
    draws: int = 30

    def __post_init__(self) -> None:
        require_positive(self, "learning_rate", "friction", "prior_std")
        require_between(self, 0.0, math.inf, "temperature")
        require_between(self, 0.0, 1.0, "burn_in")
        require_count(self, "epochs", "batch_size", "draws")

    @property
    def prior_use(self) -> PriorUse:
        """The problem's prior is used, unless the posterior is a cold one."""
        return "given" if self.temperature == 1 else "own"

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `PackageMissing` without the library."""
        require_layers(problem, self, SEQUENTIAL)
        weights = initial_weights(problem, rng)
        stds = problem.prior_stds
        if stds is None:
            stds = torch.full_like(weights, self.prior_std)
        return fitted(self, problem, rng, {"weights": weights, "prior_stds": stds.to(weights)})
