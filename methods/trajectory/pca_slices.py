r"""PCA subspace inference by elliptical slice sampling (PCA+ESS).

Coordinates z have the prior N(0, s² I) and the likelihood $p(D \mid m + P^T z)^{1/T}$: with few
coordinates and all the data, almost no uncertainty would be left at T = 1.

Source: Izmailov et al. (2019), "Subspace Inference for Bayesian Deep Learning", sections 3, 4.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import work
from bnnbench.methods.fitting.settings import require_count, require_positive
from bnnbench.methods.trajectory.collector import Descending, Descent, require_iterates
from bnnbench.methods.trajectory.elliptical_slice import elliptical_slices
from bnnbench.methods.trajectory.subspace import Task, fit_in_subspaces, temperature_of, total_loss
from bnnbench.methods.tuning.space import Log, Space, compose


@dataclass(frozen=True)
class PcaSlices(Descending):
    """`draws` states of one chain that starts at the average of the iterates."""

    card: ClassVar[Card] = Card("trajectories")
    prior_use: ClassVar[PriorUse] = "own"

    training: Descent = field(default_factory=Descent)
    rank: int = 20
    """Maximum number of principal directions."""
    deviations: int = 20
    """Number of last iterates whose deviations span the directions."""
    temperature: float | None = None
    """Temperature; None: a twentieth of the number of training rows."""
    prior_std: float = math.exp(0.5)
    """Standard deviation of the prior; the source's code uses exp(1) as the variance."""
    burn_in: int = 0
    """Number of states before the first that is recorded."""
    draws: int = 30

    def __post_init__(self) -> None:
        require_iterates(self, self.training, 2)
        require_count(self, "rank", "draws")
        require_count(self, "deviations", least=2)
        require_count(self, "burn_in", least=0)
        require_positive(self, "prior_std")
        if self.temperature is not None:
            require_positive(self, "temperature")

    @property
    def space(self) -> Space:
        """The search space; the wrapped training's settings come first."""
        return compose("training", self.training.space, Space({"temperature": Log(1.0, 1e4)}))

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        settings = self.training, self.deviations, self.rank
        return fit_in_subspaces(problems, rngs, *settings, self.states)

    def states(self, task: Task) -> tuple[Tensor, dict[str, float]]:
        """Return the states of the chain in the subspace after the burn-in."""
        rows = task.problem.train
        temperature = temperature_of(self.temperature, len(rows))

        def log_likelihood(z: Tensor) -> float:
            work.count("likelihood_rows", len(rows))
            (weights,) = task.subspace.weights(z[None])
            return -total_loss(task.average, weights, rows) / temperature

        start = task.subspace.origin.new_zeros(len(task.subspace.directions))
        count = self.burn_in + self.draws
        states, evaluations = elliptical_slices(
            log_likelihood, start, self.prior_std, count, task.rng
        )
        return states[self.burn_in :], {"evaluations_per_draw": evaluations / count}
