"""Variational inference in function space, and in weight space, for any model of a classifier.

Source: paper 003, equations 3 to 6 and 29 to 32; it calls the former fVI.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.point_estimate import Settings
from bnnbench.methods.fitting.settings import require_between
from bnnbench.methods.function_space.base import Model
from bnnbench.methods.function_space.fit import Step, fit_model
from bnnbench.methods.function_space.index_sets import IndexSet, TrainingData
from bnnbench.methods.function_space.models import Map
from bnnbench.methods.function_space.objective import DirichletPrior, IndexPoints
from bnnbench.methods.function_space.radial import Radial
from bnnbench.methods.tuning.space import Space, compose, space_of


def _without_decay() -> AdamW:
    return AdamW(weight_decay=0.0)


@dataclass(frozen=True)
class FunctionSpace(Stacked):
    """A model whose functions are regularised by a Dirichlet prior at the points of index sets.

    `prior` has a concentration for every class, all 1 if None. The divergence has the weight
    `kl_weight` / batch size relative to the mean loss of a batch.
    """

    card: ClassVar[Card] = Card(
        "function space", problems=("mlp classification", "cnn classification")
    )
    prior_use: ClassVar[PriorUse] = "own"

    model: Model = field(default_factory=Map)
    index: tuple[IndexSet, ...] = (TrainingData(),)
    """Points at which functions are compared with the prior."""
    prior: tuple[float, ...] | None = None
    """Concentration of the Dirichlet prior for every class; None: all 1."""
    kl_weight: float = 1.0
    training: Settings = field(default_factory=_without_decay)

    def __post_init__(self) -> None:
        require_between(self, 0.0, math.inf, "kl_weight")
        if not self.index:
            raise ValueError("FunctionSpace needs an index set; got none")
        if not all(0 < beta < math.inf for beta in self.prior or ()):
            raise ValueError(f"FunctionSpace needs concentrations above 0; got {self.prior}")

    @property
    def space(self) -> Space:
        """The search space, beginning with the wrapped training's."""
        return compose("training", space_of(self.training), Space())

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        prior = DirichletPrior.of(problems[0], self.prior)
        points = IndexPoints(self.index, problems)

        def divergence(step: Step) -> tuple[float, Tensor]:
            log_probs = points.log_probs(step.log_probs, step.inputs, rngs, step.predict)
            return self.kl_weight / step.inputs.shape[1], prior.divergence(log_probs)

        return fit_model(self.model, self.training, divergence, problems, rngs)


@dataclass(frozen=True)
class WeightSpace(Stacked):
    """A model fitted by its evidence lower bound: mean loss plus KL of the weights per row.

    The counterpart of `FunctionSpace`. A model without a prior on weights is fitted only by its
    likelihood and the weight decay of `training`.
    """

    card: ClassVar[Card] = Card(
        "variational", problems=("mlp classification", "cnn classification")
    )
    prior_use: ClassVar[PriorUse] = "own"

    model: Model = field(default_factory=Radial)
    kl_weight: float = 1.0
    training: Settings = field(default_factory=_without_decay)

    def __post_init__(self) -> None:
        require_between(self, 0.0, math.inf, "kl_weight")

    @property
    def space(self) -> Space:
        """The search space, beginning with the wrapped training's."""
        return compose("training", space_of(self.training), Space())

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        rows = len(problems[0].train)

        def divergence(step: Step) -> tuple[float, Tensor]:
            return self.kl_weight, self.model.penalty(step.network, step.numbers, rows)

        return fit_model(self.model, self.training, divergence, problems, rngs)
