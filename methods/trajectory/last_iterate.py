"""Stochastic gradient descent whose last iterate predicts: a point estimate.

`Sgd` is the same for networks whose noise does not depend on the input; this one shares
settings and networks with the methods that record more of the iterates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.trajectory.collector import Descending, Descent, follow
from bnnbench.methods.trajectory.schedules import HighThenLow
from bnnbench.methods.tuning.space import Space, compose


@dataclass(frozen=True)
class LastIterate(Descending):
    """The weights at the end of a descent; no earlier iterates are recorded."""

    card: ClassVar[Card] = Card("point estimates")
    prior_use: ClassVar[PriorUse] = "none"

    training: Descent = field(default_factory=lambda: Descent(schedule=HighThenLow(0.01), start=0))

    @property
    def space(self) -> Space:
        """The search space; the wrapped training's settings come first."""
        return compose("training", self.training.space)

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the point estimate of each problem."""
        stack = follow(problems, rngs, self.training, lambda _: None, changing=())
        return stack.outcomes([stack.posterior(m) for m in range(len(problems))])
