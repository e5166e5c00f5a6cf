"""Another method's posterior, predicting by one pass of moments instead of draws."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch

from bnnbench.methods.base import Compiled, InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.compiled.first_rows import fit_first_rows
from bnnbench.methods.fitting.batched import Batched
from bnnbench.methods.fitting.network_posterior import DiagonalGaussianPosterior
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.moment_propagation.posterior import MomentPosterior
from bnnbench.methods.moments.rules import Formulas
from bnnbench.methods.row_by_row.graves_vi import GravesVi
from bnnbench.methods.tuning.space import Space, compose, space_of


@dataclass(frozen=True)
class MomentPrediction(Batched):
    """A method with an independent Gaussian for every weight, predicting in one pass.

    The prediction is deterministic; dependence between units, for example through shared weights,
    is neglected.
    """

    card: ClassVar[Card] = Card("moments")
    prior_use: ClassVar[PriorUse] = "none"

    method: Mfvi | Ivon | GravesVi = field(default_factory=Mfvi)
    """The method whose posterior predicts."""
    formulas: Formulas = Formulas()

    @property
    def space(self) -> Space:
        """The search space, beginning with the wrapped method's."""
        return compose("method", space_of(self.method), Space())

    def warm_up(self, problem: Problem) -> None:
        """Compile what the method needs, and the moments of the network's units."""
        if isinstance(self.method, Compiled):
            self.method.warm_up(problem)
        fit_first_rows(replace(self, method=Mfvi(epochs=1)), problem)

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        return [self._moments(fitted) for fitted in self.method.fit_many(problems, rngs)]

    def _moments(self, fitted: Posterior | InferenceDiverged) -> Posterior | InferenceDiverged:
        if isinstance(fitted, InferenceDiverged):
            return fitted
        assert isinstance(fitted, DiagonalGaussianPosterior)
        at_mean, diagnostics = fitted.at_mean, fitted.diagnostics
        return MomentPosterior(at_mean, fitted.std, self.formulas, diagnostics=diagnostics)
