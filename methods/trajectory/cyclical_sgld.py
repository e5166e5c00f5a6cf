r"""Cyclical stochastic gradient Langevin dynamics: warm restarts that find several modes.

With cycles of C steps, step t = 1, 2, ... has the learning rate

$$ \tfrac12 l_0 \bigl(\cos(\pi\, \mathrm{mod}(t - 1, C) / C) + 1\bigr) $$

Noise is added only in the last part of each cycle, where weight vectors are recorded.

Source: Zhang et al. (2020), "Cyclical Stochastic Gradient MCMC for Bayesian Deep Learning",
equation 1 and algorithm 1.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Stacked
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.predictions.levels import floor_of
from bnnbench.methods.trajectory.langevin import Rate, chains, evenly, outcomes, prior_stds
from bnnbench.methods.tuning.space import Log, Space


@dataclass(frozen=True)
class CyclicalSgld(Stacked):
    """One chain of several cycles, each with up to `draws_per_cycle` weight vectors."""

    card: ClassVar[Card] = Card("sampling")
    space: ClassVar[Space] = Space(
        {
            "learning_rate": Log(1e-3, 1.0),
            "prior_std": Log(0.1, 10.0),
            "temperature": Log(1e-3, 1.0),
        },
        length="epochs",
    )

    learning_rate: float = 0.1
    """Learning rate at the start of a cycle."""
    cycles: int = 4
    """Cycles of the learning rate."""
    explore: float = 0.8
    """Share of a cycle without noise, during which no iterate is recorded."""
    prior_std: float = 1.0
    temperature: float = 1.0
    epochs: int = 50
    batch_size: int = 128
    draws_per_cycle: int = 8
    """Maximum number of weight vectors recorded per cycle."""
    heteroscedastic: bool = True

    def __post_init__(self) -> None:
        require_positive(self, "learning_rate", "prior_std")
        require_between(self, 0.0, math.inf, "temperature")
        require_between(self, 0.0, 1.0, "explore")
        require_count(self, "cycles", "epochs", "batch_size", "draws_per_cycle")

    @property
    def prior_use(self) -> PriorUse:
        """The problem's prior is used, unless the posterior is a cold one."""
        return "given" if self.temperature == 1 else "own"

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        stack = Stack(problems, rngs, self.batch_size, heteroscedastic=self.heteroscedastic)
        rate, sampled_steps = self.plan(self.epochs * len(stack.batches))
        stds = prior_stds(self.prior_std, problems[0])
        return outcomes(stack, problems, chains(stack, self.epochs, stds, rate, sampled_steps))

    def plan(self, steps: int) -> tuple[Rate, set[int]]:
        """Return rate and temperature of each step, and the steps whose weights are recorded.

        The former are counted from 0, the latter from 1.
        """
        bounds = [steps * cycle // self.cycles for cycle in range(self.cycles + 1)]
        noisy = [begin + floor_of(self.explore, end - begin) for begin, end in pairwise(bounds)]

        def rate(step: int) -> tuple[float, float]:
            cycle = bisect_right(bounds, step) - 1
            begin, end = bounds[cycle : cycle + 2]
            falling = 0.5 * (1 + math.cos(math.pi * (step - begin) / (end - begin)))
            return self.learning_rate * falling, self.temperature * (step >= noisy[cycle])

        parts = zip(noisy, bounds[1:], strict=True)
        by_cycle = (evenly(first, behind, self.draws_per_cycle) for first, behind in parts)
        return rate, set().union(*by_cycle)
