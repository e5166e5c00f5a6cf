r"""Cyclical stochastic gradient Langevin dynamics: warm restarts that find several modes.

Step t = 1, 2, ... of cycles of C steps has the learning rate

$$ \tfrac12 l_0 \bigl(\cos(\pi\, \mathrm{mod}(t - 1, C) / C) + 1\bigr) $$

Noise is added in the last part of each cycle alone, where the weight vectors are kept.

Source: Zhang et al. (2020), "Cyclical Stochastic Gradient MCMC for Bayesian Deep Learning",
equation 1 and algorithm 1.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from methods.base import InferenceDiverged, Posterior, Problem
from methods.settings import require_between, require_count, require_positive
from methods.training import Stack, in_stacks, only
from methods.trajectory.langevin import chains, evenly, outcomes


@dataclass(frozen=True)
class CyclicalSgld:
    """One chain of several cycles, each of which gives up to `draws_per_cycle` weight vectors."""

    learning_rate: float = 0.1
    """At the beginning of a cycle."""
    cycles: int = 4
    explore: float = 0.8
    """The share of a cycle without noise, of which nothing is kept."""
    prior_std: float = 1.0
    temperature: float = 1.0
    epochs: int = 50
    batch_size: int = 128
    draws_per_cycle: int = 8
    heteroscedastic: bool = True

    def __post_init__(self) -> None:
        require_positive(self, "learning_rate", "prior_std")
        require_between(self, 0.0, math.inf, "temperature")
        require_between(self, 0.0, 1.0, "explore")
        require_count(self, "cycles", "epochs", "batch_size", "draws_per_cycle")

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `InferenceDiverged` if weights overflow."""
        return only(self.fit_many([problem], [rng]))

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        return in_stacks(self._fit_stack, problems, rngs)

    def _fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        stack = Stack(problems, rngs, self.batch_size, heteroscedastic=self.heteroscedastic)
        steps = self.epochs * len(stack.batches)
        bounds = [steps * cycle // self.cycles for cycle in range(self.cycles + 1)]
        parts = list(pairwise(bounds))
        kept = set[int]().union(
            *(evenly(self._noisy_from(*part), part[1], self.draws_per_cycle) for part in parts)
        )

        def rate(step: int) -> tuple[float, float]:
            begin, end = parts[bisect_right(bounds, step) - 1]
            falling = 0.5 * (1 + math.cos(math.pi * (step - begin) / (end - begin)))
            noisy = step >= self._noisy_from(begin, end)
            return self.learning_rate * falling, self.temperature if noisy else 0.0

        return outcomes(stack, problems, chains(stack, self.epochs, self.prior_std, rate, kept))

    def _noisy_from(self, begin: int, end: int) -> int:
        """Return the first step of a cycle that adds noise."""
        return begin + math.floor(self.explore * (end - begin))
