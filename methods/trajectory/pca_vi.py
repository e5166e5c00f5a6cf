r"""PCA subspace inference by mean-field variational inference (PCA+VI).

Coordinates z have the prior N(0, s² I), the posterior N(μ, diag(σ²)) and the likelihood
$p(D \mid m + P^T z)^{1/T}$. The objective per training row is the mean loss of a batch at a draw of
z plus T / N times the divergence of the posterior from the prior.

Source: Izmailov et al. (2019), "Subspace Inference for Bayesian Deep Learning", sections 3, 4.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Split
from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.fitting import work
from bnnbench.methods.fitting.minibatches import Minibatches
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.fitting.settings import require_count, require_positive
from bnnbench.methods.mfvi import kl_to_prior
from bnnbench.methods.networks.heteroscedastic import softplus
from bnnbench.methods.networks.least_rows import least_rows
from bnnbench.methods.trajectory.collector import Descending, Descent, require_iterates
from bnnbench.methods.trajectory.subspace import Task, fit_in_subspaces, losses, temperature_of
from bnnbench.methods.tuning.space import Log, Space, compose


@dataclass(frozen=True)
class PcaVi(Descending):
    """`draws` weight vectors of the variational posterior, drawn once."""

    card: ClassVar[Card] = Card("trajectories")
    prior_use: ClassVar[PriorUse] = "own"

    training: Descent = field(default_factory=Descent)
    rank: int = 20
    """Maximum number of principal directions."""
    deviations: int = 20
    """Number of last iterates whose deviations span the directions."""
    temperature: float | None = None
    """Temperature; None: a twentieth of the number of training rows."""
    prior_std: float = 1.0
    learning_rate: float = 0.01
    """Learning rate of Adam, on means and raw standard deviations."""
    epochs: int = 30
    """Number of epochs of inference in the subspace."""
    draws: int = 30

    def __post_init__(self) -> None:
        require_iterates(self, self.training, 2)
        require_count(self, "rank", "draws", "epochs")
        require_count(self, "deviations", least=2)
        require_positive(self, "prior_std", "learning_rate")
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
        return fit_in_subspaces(problems, rngs, *settings, self._draws)

    def _draws(self, task: Task) -> tuple[Tensor, dict[str, float]]:
        mean, std = self.variational(task)
        if not (mean.isfinite().all() and std.isfinite().all()):
            raise InferenceDiverged("the fit is no longer finite")
        (noise,) = normal([task.rng], self.draws, mean.shape[1], dtype=mean.dtype)
        return mean + std * noise, {"kl": float(kl_to_prior(mean, std, self.prior_std))}

    def variational(
        self, task: Task
    ) -> tuple[Float[Tensor, "1 coordinates"], Float[Tensor, "1 coordinates"]]:
        """Return means and standard deviations of the coordinates."""
        mean = task.subspace.origin.new_zeros(1, len(task.subspace.directions)).requires_grad_()
        raw = torch.full_like(mean, -3.0).requires_grad_()  # the initial value in the source's code
        optimiser = torch.optim.Adam([mean, raw], lr=self.learning_rate)
        problem = task.problem
        least = least_rows(problem.architecture, problem.input_shape)
        batches = Minibatches([problem], [task.rng], self.training.batch_size, least)
        weight = temperature_of(self.temperature, batches.rows) / batches.rows
        for _ in checkpoint.epochs(self.epochs, optimiser, task.rng):
            for inputs, targets in batches.epoch():
                std = softplus(raw) + 1e-6
                z = mean + std * normal([task.rng], mean.shape[1], dtype=mean.dtype)
                rows = Split(inputs[0], targets[0])
                loss = losses(task.average, task.subspace.weights(z), rows).mean(1)
                loss = loss + weight * kl_to_prior(mean, std, self.prior_std)
                optimiser.zero_grad()
                loss.sum().backward()
                optimiser.step()
                work.count("gradient_rows", len(rows))
        return mean.detach(), softplus(raw.detach()) + 1e-6
