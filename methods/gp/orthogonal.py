"""The orthogonally decoupled variational Gaussian process (OrthVGP).

The mean has separate inducing points, many and cheap, orthogonal to the covariance's. The
problem's network is not used. Source: Salimbeni et al. (2018), "Orthogonally Decoupled
Variational Gaussian Processes".
"""

from dataclasses import dataclass, field
from typing import ClassVar

import torch

from bnnbench.methods.base import Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.settings import require_count
from bnnbench.methods.gp.package import lacking
from bnnbench.methods.gp.training import GpPosterior, GpTraining, random_rows, require_single_target
from bnnbench.methods.tuning.space import Choice, Space, compose


@dataclass(frozen=True)
class OrthogonalGp:
    """OrthVGP with these numbers of inducing points, or all training rows if fewer."""

    card: ClassVar[Card] = Card(
        "Gaussian processes", problems=("mlp regression", "linear regression")
    )
    prior_use: ClassVar[PriorUse] = "own"

    inducing: int = 64
    """Number of inducing points of the covariance."""
    mean_inducing: int = 256
    """Number of additional inducing points of the mean."""
    training: GpTraining = field(default_factory=GpTraining)

    lacks = property(lacking)

    def __post_init__(self) -> None:
        require_count(self, "inducing", "mean_inducing")

    @property
    def space(self) -> Space:
        """The search space; the wrapped training's settings come first."""
        return compose("training", self.training.space, Space({"inducing": Choice((64, 128, 256))}))

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `PackageMissing` without gpytorch."""
        from bnnbench.methods.gp import models

        noise_std = require_single_target(problem, self)
        gp = models.SparseGp(random_rows(problem, self.inducing, rng))
        mean = models.OrthogonalMean(gp, random_rows(problem, self.mean_inducing, rng))
        model = models.GpRegression(gp, noise_std, further_mean=mean)
        self.training(model, problem, rng, samples=1)
        return GpPosterior(model, draws=1)
