"""The baseline: the distribution of the training targets, independent of the input."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import NotDifferentiable, Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    Predictive,
)
from bnnbench.methods.tuning.space import Space

DIAGNOSTICS = {"ignores_inputs": 1.0}


@dataclass(frozen=True)
class MarginalPosterior:
    """The same distribution for every point."""

    predictive: CategoricalPredictive | GaussianPredictive
    """The predictive of a single point."""
    diagnostics: dict[str, float]

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the training targets' distribution for each point; the stream is not used."""
        if isinstance(self.predictive, CategoricalPredictive):
            return CategoricalPredictive(self.predictive.log_probs.expand(-1, len(inputs), -1))
        return GaussianPredictive(
            self.predictive.means.expand(-1, len(inputs), -1),
            self.predictive.variances.expand(-1, len(inputs), -1),
        )

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log frequencies, which do not depend on the inputs."""
        if not isinstance(self.predictive, CategoricalPredictive):
            raise NotDifferentiable("needed a classifier; got a regression, without probabilities")
        return self.predictive.mixture_log_probs.expand(len(inputs), -1)


@dataclass(frozen=True)
class Marginal:
    """Class frequencies with Laplace's rule of succession, or the targets' mean and variance."""

    card: ClassVar[Card] = Card("point estimates", restarts="a fit of milliseconds")
    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space()

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; the stream is not used.

        Raises `Unsupported` for a regression of one row.
        """
        targets = problem.train.targets
        if isinstance(problem.likelihood, Categorical):
            counts = torch.bincount(targets, minlength=problem.likelihood.classes) + 1
            log_probs = (counts / counts.sum()).log()
            return MarginalPosterior(CategoricalPredictive(log_probs[None, None]), DIAGNOSTICS)
        if len(targets) < 2:
            raise Unsupported(
                f"Marginal needed two training rows for a variance; got {len(targets)}"
            )
        mean, variance = targets.mean(0), targets.var(0)
        return MarginalPosterior(
            GaussianPredictive(mean[None, None], variance[None, None]), DIAGNOSTICS
        )

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior]:
        """Return `fit` of each problem; the fits share nothing."""
        return [self.fit(problem, rng) for problem, rng in zip(problems, rngs, strict=True)]
