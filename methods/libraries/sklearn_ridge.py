"""Bayesian ridge regression of scikit-learn: a linear model whose precisions maximise the evidence.

Sources: MacKay (1992), "Bayesian Interpolation"; Tipping (2001), "Sparse Bayesian Learning and the
Relevance Vector Machine", appendix A, for the updates.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from sklearn.linear_model import BayesianRidge
from torch import Tensor

from bnnbench.methods.base import Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import work
from bnnbench.methods.fitting.settings import require_count
from bnnbench.methods.libraries.sklearn_rows import answers, single_target, vectors
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.tuning.space import Space


@dataclass(frozen=True)
class RidgePosterior:
    """A fitted linear model."""

    ridge: Any
    diagnostics: Mapping[str, float]

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> GaussianPredictive:
        """Return one Gaussian per point, including noise; nothing is drawn."""
        estimated = partial(self.ridge.predict, return_std=True)
        mean, std = answers(estimated, vectors(inputs))
        pair = torch.from_numpy(mean), torch.from_numpy(std).square()
        return GaussianPredictive(*(values.reshape(1, -1, 1).to(inputs.device) for values in pair))


@dataclass(frozen=True)
class SklearnRidge:
    """Bayesian ridge regression of scikit-learn, linear in the inputs; it ignores the network."""

    card: ClassVar[Card] = Card(
        "not a network", problems=("mlp regression", "linear regression", "cnn regression")
    )
    label: ClassVar[str] = "scikit-learn: Bayesian ridge"
    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()

    iterations: int = 300
    """Maximum number of updates of the precisions."""

    def __post_init__(self) -> None:
        require_count(self, "iterations")

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `Unsupported` for classes and several targets."""
        targets = single_target(problem, self)
        ridge: Any = BayesianRidge(max_iter=self.iterations)
        ridge.fit(vectors(problem.train.inputs), targets)
        work.count("factorisations", 1)
        diagnostics = {
            "noise_std": float(ridge.alpha_) ** -0.5,
            "prior_precision": float(ridge.lambda_),
            "converged": float(ridge.n_iter_ < self.iterations),
        }
        return RidgePosterior(ridge, diagnostics)
