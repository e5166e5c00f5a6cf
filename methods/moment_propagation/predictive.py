"""Another method's posterior, predicting by one pass of moments instead of by draws."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from methods.base import InferenceDiverged, Posterior, Problem
from methods.batched import Batched
from methods.graves_vi import GravesVi
from methods.ivon import Ivon
from methods.mfvi import Mfvi
from methods.moment_propagation.posterior import MomentPosterior
from methods.moment_propagation.rules import Formulas
from methods.network_posterior import DiagonalGaussianPosterior


@dataclass(frozen=True)
class MomentPrediction(Batched):
    """A method with an independent Gaussian for every weight, predicting in one pass.

    The prediction is deterministic, and what units have in common, the weights first of all,
    counts as independent.
    """

    method: Mfvi | Ivon | GravesVi = field(default_factory=Mfvi)
    formulas: Formulas = Formulas()

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
