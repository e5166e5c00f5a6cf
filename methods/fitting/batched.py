"""Base classes of methods that fit several problems at once.

They are optional: the engine calls `fit`, or `fit_many` if it exists.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch

from bnnbench.methods.base import InferenceDiverged, Posterior, Problem
from bnnbench.methods.fitting import progress
from bnnbench.methods.fitting.network_posterior import convolves
from bnnbench.methods.networks.shapes import parameter_slices

MOST_MEMBERS, MOST_NUMBERS = 400, 2**19
"""Maximum numbers of members and of weights in one stack of variants."""

FitStack = Callable[
    [Sequence[Problem], Sequence[torch.Generator]], list[Posterior | InferenceDiverged]
]


class Batched(ABC):
    """A method whose `fit_many` does all the work."""

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `InferenceDiverged` if inference fails."""
        return only(self.fit_many([problem], [rng]))

    @abstractmethod
    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem, or the failure of its inference."""
        ...


class Stacked(Batched):
    """A method that trains networks of equal shape side by side, in its `fit_stack`."""

    @property
    def side_by_side(self) -> bool:
        """False if each problem has a separate stack."""
        return True

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem, or the failure of its inference."""
        return fit_in_stacks(self.fit_stack, problems, rngs, self.side_by_side)

    @abstractmethod
    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem, or its failure; all problems have one shape."""
        ...


class Variants(Stacked):
    """A method that trains several settings side by side, in its `fit_side_by_side`."""

    per_member: ClassVar[tuple[str, ...]] = ()
    """The settings in which members may differ, including "epochs"."""

    @classmethod
    def fit_variants(
        cls,
        variants: Sequence[Any],
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> list[Posterior | InferenceDiverged]:
        """Return `variants[m].fit(problems[m], rngs[m])` of each member, bit for bit on one thread.

        Members with the same generator draw the same numbers, as if fitted one at a time. Raises
        ValueError for variants that differ in other settings than `per_member`, and for problems
        that differ in more than their rows.
        """
        rest = {tuple(_others(variant, cls.per_member).items()) for variant in variants}
        if len(rest) != 1:
            raise ValueError(
                f"needed variants of {cls.__name__} that differ only in {', '.join(cls.per_member)}"
                f"; got {len(rest)} combinations of other settings"
            )
        starts = {id(rng): rng.get_state() for rng in rngs}
        order = sorted(range(len(variants)), key=lambda m: -variants[m].epochs)
        fitted: dict[int, Posterior | InferenceDiverged] = {}
        for number, members in enumerate(parts := _parts(order, problems)):
            for rng in {id(rngs[m]): rngs[m] for m in members}.values():
                rng.set_state(starts[id(rng)])

            def fit_stack(
                some: Sequence[Problem], streams: Sequence[torch.Generator], members=members
            ) -> list[Posterior | InferenceDiverged]:
                return cls.fit_side_by_side([variants[m] for m in members], some, streams)

            with progress.part(number, len(parts)):
                results = fit_in_stacks(
                    fit_stack, [problems[m] for m in members], [rngs[m] for m in members]
                )
            fitted |= zip(members, results, strict=True)
        return [fitted[m] for m in range(len(variants))]

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem, or its failure; all problems have one shape."""
        return self.fit_side_by_side([self] * len(problems), problems, rngs)

    @classmethod
    @abstractmethod
    def fit_side_by_side(
        cls,
        variants: Sequence[Any],
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> list[Posterior | InferenceDiverged]:
        """Return the results of `fit_variants` for one stack, variants with most epochs first."""
        ...


def _others(variant: Any, per_member: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in vars(variant).items() if name not in per_member}


def _parts(members: Sequence[int], problems: Sequence[Problem]) -> list[Sequence[int]]:
    """Return the members in stacks that fit the processor's cache; of one for convolutions."""
    first = problems[0]
    weights = sum(part.size for part in parameter_slices(first.architecture, first.input_shape))
    size = min(MOST_MEMBERS, max(1, MOST_NUMBERS // max(weights, 1)))
    size = 1 if convolves(first.architecture) else size
    return [members[start : start + size] for start in range(0, len(members), size)]


def fit_in_stacks(
    fit_stack: FitStack,
    problems: Sequence[Problem],
    rngs: Sequence[torch.Generator],
    side_by_side: bool = True,
) -> list[Posterior | InferenceDiverged]:
    """Fit problems side by side if that is faster: MLPs all at once, convolutions one by one.

    Without `side_by_side`, all are fitted one by one. `fit_stack` returns, for each problem, a
    posterior or `InferenceDiverged`. Raises ValueError for problems that differ in more than their
    rows.
    """
    kinds = {(p.architecture, p.likelihood, p.prior, p.input_shape) for p in problems}
    if len(kinds) != 1:
        raise ValueError(f"needed problems that differ only in their rows; got {kinds}")
    alone = not side_by_side or convolves(problems[0].architecture)
    size = 1 if alone else len(problems)
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
