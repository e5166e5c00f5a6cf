"""Networks at initialisation, before training. Source: paper 001, table 4."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, get_args

import torch

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.compiled.first_rows import fit_first_rows
from bnnbench.methods.fitting.settings import require_choice
from bnnbench.methods.fitting.targets import require_classes
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.moment_propagation.approximation import ApproximatePosterior
from bnnbench.methods.moment_propagation.initialisation import Rescaling, rescale
from bnnbench.methods.moments.rules import Formulas
from bnnbench.methods.tuning.space import Space


@dataclass(frozen=True)
class Untrained:
    """One random weight vector, rescaled or not, that predicts by moments."""

    card: ClassVar[Card] = Card(
        "moments",
        problems=("mlp classification", "cnn classification"),
        gradients=False,
        restarts="a fit of milliseconds",
    )
    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space()

    initialisation: Rescaling = "none"
    formulas: Formulas = Formulas()

    def __post_init__(self) -> None:
        require_choice(self, "initialisation", get_args(Rescaling))

    def warm_up(self, problem: Problem) -> None:
        """Compile the moments of the network's units."""
        fit_first_rows(self, problem)

    def fit(self, problem: Problem, rng: torch.Generator) -> ApproximatePosterior:
        """Return the network; training targets are not used.

        Raises `Unsupported` for a regression.
        """
        require_classes(self, problem.likelihood)
        stack = Stack([problem], [rng], batch_size=2)  # not used; a batch norm needs two rows
        settings = self.initialisation, self.formulas
        rescale(stack.network, stack.weights, [problem], [rng], *settings)
        return ApproximatePosterior(stack.posterior(0), problem.architecture, "ap2", self.formulas)

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the network of each problem."""
        return [self.fit(problem, rng) for problem, rng in zip(problems, rngs, strict=True)]
