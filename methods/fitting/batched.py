"""Base classes of methods that fit several problems at once.

They are optional: the engine calls `fit`, and `fit_many` where there is one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import torch

from bnnbench.methods.base import InferenceDiverged, Posterior, Problem
from bnnbench.methods.fitting.network_posterior import convolves

FitStack = Callable[
    [Sequence[Problem], Sequence[torch.Generator]], list[Posterior | InferenceDiverged]
]


class Batched(ABC):
    """A method whose `fit_many` does all the work."""

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `InferenceDiverged` where inference fails."""
        return only(self.fit_many([problem], [rng]))

    @abstractmethod
    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem, or the failure of its inference."""
        ...


class Stacked(Batched):
    """A method that trains networks of equal shape side by side, in its `fit_stack`."""

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem, or the failure of its inference."""
        return in_stacks(self.fit_stack, problems, rngs)

    @abstractmethod
    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem of one shape, or the failure of its inference."""
        ...


def in_stacks(
    fit_stack: FitStack,
    problems: Sequence[Problem],
    rngs: Sequence[torch.Generator],
) -> list[Posterior | InferenceDiverged]:
    """Fit problems side by side where that is faster: MLPs all at once, convolutions one by one.

    `fit_stack` returns one posterior per problem, or `InferenceDiverged` in its place. Raises
    ValueError for problems that differ in more than their rows.
    """
    kinds = {(p.architecture, p.likelihood, p.input_shape) for p in problems}
    if len(kinds) != 1:
        raise ValueError(f"needed problems that differ in their rows alone; got {kinds}")
    size = 1 if convolves(problems[0].architecture) else len(problems)
    fitted: list[Posterior | InferenceDiverged] = []
    for start in range(0, len(problems), size):
        stack = slice(start, start + size)
        fitted += fit_stack(problems[stack], rngs[stack])
    return fitted


def only(fitted: Sequence[Posterior | InferenceDiverged]) -> Posterior:
    """Return the single result of a stack of one, or raise it."""
    (posterior,) = fitted
    if isinstance(posterior, InferenceDiverged):
        raise posterior
    return posterior
