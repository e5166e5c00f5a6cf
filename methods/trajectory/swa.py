"""Stochastic weight averaging: the mean of the iterates of SGD at a high learning rate.

Batch-norm statistics are recomputed at the average, on the training data.

Source: Izmailov et al. (2018), "Averaging Weights Leads to Wider Optima and Better
Generalization".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.trajectory.averages import averaged, posterior_of
from bnnbench.methods.trajectory.collector import Descending, Descent, require_iterates
from bnnbench.methods.trajectory.schedules import HighThenLow
from bnnbench.methods.tuning.space import Space, compose


@dataclass(frozen=True)
class Swa(Descending):
    """A point estimate at the average of the iterates that the descent records."""

    card: ClassVar[Card] = Card("trajectories")
    prior_use: ClassVar[PriorUse] = "none"

    training: Descent = field(default_factory=lambda: Descent(schedule=HighThenLow()))

    def __post_init__(self) -> None:
        require_iterates(self, self.training, 1)

    @property
    def space(self) -> Space:
        """The search space; the wrapped training's settings come first."""
        return compose("training", self.training.space)

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the point estimate of each problem."""
        stack, moments = averaged(problems, rngs, self.training)
        details = {"iterates": float(moments.count)}
        posteriors = [
            posterior_of(stack, problem, m, moments.mean[m : m + 1], details)
            for m, problem in enumerate(problems)
        ]
        return stack.outcomes(posteriors)
