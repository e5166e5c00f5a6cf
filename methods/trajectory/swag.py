r"""SWAG: a Gaussian around the average of SGD's iterates, diagonal plus low rank.

With mean m and variances v of all recorded iterates and D the last K deviations of an iterate from
the mean of all iterates up to and including it, the posterior is

$$ N\bigl(m,\; c\,\mathrm{diag}(v) + \tfrac{c}{K - 1} D D^T\bigr) $$

Source: Maddox et al. (2019), "A Simple Baseline for Bayesian Uncertainty in Deep Learning",
equation 1 and algorithm 1, where c = 1/2. If fewer than K iterates were recorded, its code still
divides by K - 1; here K is then their number. K is 0 or at least 2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.fitting.settings import require_between, require_count
from bnnbench.methods.trajectory.averages import averaged, posterior_of
from bnnbench.methods.trajectory.collector import Descending, Descent, require_iterates
from bnnbench.methods.trajectory.schedules import HighThenLow
from bnnbench.methods.tuning.space import Log, Space, compose


@dataclass(frozen=True)
class Swag(Descending):
    """`draws` weight vectors, drawn once, each with separate batch-norm statistics."""

    card: ClassVar[Card] = Card("trajectories")
    prior_use: ClassVar[PriorUse] = "none"

    training: Descent = field(default_factory=lambda: Descent(schedule=HighThenLow()))
    rank: int = 20
    """Number of deviations, at least 2; 0 for a diagonal covariance."""
    scale: float = 0.5
    """Scale of the covariance; 1 is customary without deviations."""
    draws: int = 30

    def __post_init__(self) -> None:
        require_iterates(self, self.training, 2)
        require_count(self, "rank", least=0)
        if self.rank == 1:
            raise ValueError(
                "Swag needs rank to be 0 or at least 2, since its covariance divides by rank - 1; "
                "got 1"
            )
        require_count(self, "draws")
        require_between(self, 0.0, math.inf, "scale")

    @property
    def space(self) -> Space:
        """The search space; the wrapped training's settings come first."""
        return compose("training", self.training.space, Space({"scale": Log(0.05, 2.0)}))

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        stack, moments = averaged(problems, rngs, self.training, self.rank)
        posteriors = []
        for m, problem in enumerate(problems):
            columns = moments.deviations(m) if self.rank else moments.mean[:0]
            std = moments.variance[m].sqrt()
            draws = gaussian_draws(
                moments.mean[m], std, columns, self.scale, self.draws, stack.rngs[m]
            )
            details = {
                "iterates": float(moments.count),
                "mean_weight_std": float(std.mean()),
            }
            posteriors.append(posterior_of(stack, problem, m, draws, details))
        return stack.outcomes(posteriors, moments.variance)


def gaussian_draws(
    mean: Float[Tensor, " parameters"],
    std: Float[Tensor, " parameters"],
    deviations: Float[Tensor, "columns parameters"],
    scale: float,
    count: int,
    rng: torch.Generator,
) -> Float[Tensor, "draws parameters"]:
    """Return draws of SWAG's Gaussian, which is diagonal without deviations."""
    (noise,) = normal([rng], count, len(mean), dtype=mean.dtype)
    noise.mul_(std)
    if len(deviations):
        (along,) = normal([rng], count, len(deviations), dtype=mean.dtype)
        noise.addmm_(along, deviations, alpha=1 / math.sqrt(len(deviations) - 1))
    return noise.mul_(math.sqrt(scale)).add_(mean)
