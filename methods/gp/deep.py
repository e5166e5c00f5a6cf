"""A deep Gaussian process of two layers by doubly stochastic variational inference.

The inputs are the mean of the hidden processes. The problem's network is not used.

Source: Salimbeni and Deisenroth (2017), "Doubly Stochastic Variational Inference for Deep Gaussian
Processes".
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
class DeepGp:
    """Two layers of processes with `inducing` points each, or all training rows if fewer.

    There are as many hidden processes as inputs, at most `width`.
    """

    card: ClassVar[Card] = Card(
        "Gaussian processes", problems=("mlp regression", "linear regression")
    )
    prior_use: ClassVar[PriorUse] = "own"

    inducing: int = 100
    width: int = 30
    """Maximum number of hidden processes."""
    samples: int = 3
    """Number of draws of the hidden processes per row in training."""
    draws: int = 32
    training: GpTraining = field(default_factory=GpTraining)

    lacks = property(lacking)

    def __post_init__(self) -> None:
        require_count(self, "inducing", "width", "samples", "draws")

    @property
    def space(self) -> Space:
        """The search space; the wrapped training's settings come first."""
        return compose("training", self.training.space, Space({"inducing": Choice((64, 128, 256))}))

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `PackageMissing` without gpytorch."""
        from bnnbench.methods.gp import models

        noise_std = require_single_target(problem, self)
        width = min(self.width, problem.train.inputs.shape[1])
        places = random_rows(problem, self.inducing, rng)
        model = models.two_layers(places, width, noise_std)
        self.training(model, problem, rng, samples=self.samples)
        return GpPosterior(model, self.draws)
