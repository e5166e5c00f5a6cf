"""Deep ensemble: the same training from several initialisations.

Source: Lakshminarayanan, Pritzel and Blundell (2017), "Simple and Scalable Predictive
Uncertainty Estimation using Deep Ensembles".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import (
    BatchedMethod,
    InferenceDiverged,
    Posterior,
    PriorUse,
    Problem,
    Unsupported,
    differentiable,
    prior_use,
)
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.batched import Batched
from bnnbench.methods.fitting.randomness import spawn
from bnnbench.methods.fitting.settings import require_count
from bnnbench.methods.predictions.predictive import Predictive, mixture
from bnnbench.methods.tuning.fits import fit_all
from bnnbench.methods.tuning.space import Space, compose, space_of


@dataclass(frozen=True)
class EnsemblePosterior:
    """The equal-weight mixture of the members' posteriors."""

    members: tuple[Posterior, ...]

    @property
    def diagnostics(self) -> dict[str, float]:
        """The members' diagnostics, averaged."""
        by_member = [member.diagnostics for member in self.members]
        return {name: sum(d[name] for d in by_member) / len(by_member) for name in by_member[0]}

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the mixture of the members' predictive distributions."""
        rngs = spawn(rng, len(self.members))
        return mixture(
            [
                member.predict(inputs, member_rng)
                for member, member_rng in zip(self.members, rngs, strict=True)
            ]
        )

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the members' mean probabilities, with gradient."""
        rngs = spawn(rng, len(self.members))
        by_member = [
            differentiable(member).log_probs(inputs, member_rng)
            for member, member_rng in zip(self.members, rngs, strict=True)
        ]
        return torch.stack(by_member).logsumexp(0) - math.log(len(by_member))


@dataclass(frozen=True)
class Ensemble(Batched):
    """`size` fits of one method, with different initialisations and data orders."""

    card: ClassVar[Card] = Card("ensembles")

    size: int = 5
    member: BatchedMethod = field(default_factory=AdamW)
    """The method that is fitted `size` times, and its settings."""

    def __post_init__(self) -> None:
        require_count(self, "size")

    @property
    def prior_use(self) -> PriorUse | None:
        """The prior use of the members."""
        return prior_use(self.member)

    @property
    def space(self) -> Space:
        """The search space; the member's settings come first."""
        return compose("member", space_of(self.member))

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the mixture of each problem; members of all problems train side by side."""
        return self.fit_variants([self] * len(problems), problems, rngs)

    @classmethod
    def fit_variants(
        cls,
        variants: "Sequence[Ensemble]",
        problems: Sequence[Problem],
        rngs: Sequence[torch.Generator],
    ) -> list[Posterior | InferenceDiverged]:
        """Return `variants[m].fit(problems[m], rngs[m])`; variants differ in members' settings.

        Members of all variants train side by side as far as their method allows.
        """
        if any(problem.start is not None for problem in problems):
            raise Unsupported(
                "all members of an ensemble would start from the one trained network: use "
                "Checkpoints(files) with several trained networks"
            )
        size = variants[0].size
        children = {id(rng): spawn(rng, size) for rng in {id(r): r for r in rngs}.values()}
        fitted = fit_all(
            [variant.member for variant in variants for _ in range(size)],
            [problem for problem in problems for _ in range(size)],
            [child for rng in rngs for child in children[id(rng)]],
        ).results
        return [
            mixture_or_failure(fitted[start : start + size])
            for start in range(0, len(fitted), size)
        ]


def mixture_or_failure(
    members: Sequence[Posterior | InferenceDiverged],
) -> Posterior | InferenceDiverged:
    """Return the mixture of the members, or the first failure among them."""
    converged: list[Posterior] = []
    for index, member in enumerate(members):
        if isinstance(member, InferenceDiverged):
            return InferenceDiverged(f"member {index} of {len(members)}: {member}")
        converged.append(member)
    return EnsemblePosterior(tuple(converged))
