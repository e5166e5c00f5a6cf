"""Two message passing fits, each with prior means learned from the other half of the rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.ensemble import EnsemblePosterior
from bnnbench.methods.fitting.batched import Batched
from bnnbench.methods.fitting.network_posterior import convolves
from bnnbench.methods.fitting.randomness import spawn
from bnnbench.methods.message_passing.informed import InformedPrior, halves
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.predictions.predictive import Predictive
from bnnbench.methods.tuning.space import Space, compose


@dataclass(frozen=True)
class CrossedPosterior:
    """The equal mixture of the posteriors fitted to two halves of the rows."""

    halves: EnsemblePosterior

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """The average of both halves' diagnostics."""
        return self.halves.diagnostics

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the mixture of both predictive distributions."""
        return self.halves.predict(inputs, rng)


@dataclass(frozen=True)
class CrossFitted(Batched):
    """The equal mixture of two message passing fits, one to each half of the rows.

    Each is an approximate posterior of its own half under a prior learned from the other.
    """

    card: ClassVar[Card] = Card("message passing", gradients=False)

    method: MessagePassing = field(default_factory=lambda: MessagePassing(prior=InformedPrior()))
    """The fit of one half; the `rows` setting of its prior is ignored."""

    prior_use: ClassVar[PriorUse] = "own"

    def __post_init__(self) -> None:
        if not isinstance(self.method.prior, InformedPrior):
            raise ValueError(
                "CrossFitted needs MessagePassing(prior=InformedPrior(...)), for means from a fit; "
                f"got {self.method.prior}"
            )

    @property
    def space(self) -> Space:
        """The search space of the method."""
        return compose("method", self.method.space)

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the mixture for each problem, or the failure of one of its halves."""
        pairs = [halves(problem, rng) for problem, rng in zip(problems, rngs, strict=True)]
        streams = [spawn(rng, 2) for rng in rngs]
        fitted = [
            self._of_halves(
                [(pair[k], pair[1 - k]) for pair in pairs], [both[k] for both in streams]
            )
            for k in (0, 1)
        ]
        return [_mixture(*both) for both in zip(*fitted, strict=True)]

    def _of_halves(
        self, pairs: Sequence[tuple[Problem, Problem]], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return fits to the second of each pair with means from the first; images one by one."""
        at_once = 1 if convolves(pairs[0][0].architecture) else len(pairs)
        fitted: list[Posterior | InferenceDiverged] = []
        for start in range(0, len(pairs), at_once):
            part = slice(start, start + at_once)
            sources, problems = zip(*pairs[part], strict=True)
            fitted += self.method.fit_informed(problems, sources, rngs[part])
        return fitted


def _mixture(*halves: Posterior | InferenceDiverged) -> Posterior | InferenceDiverged:
    members: list[Posterior] = []
    for half in halves:
        if isinstance(half, InferenceDiverged):
            return half
        members.append(half)
    return CrossedPosterior(EnsemblePosterior(tuple(members)))
