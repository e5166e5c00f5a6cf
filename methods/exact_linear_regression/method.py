"""Bayesian linear regression, exactly and from some draws of the exact posterior.

Source: Bishop (2006), "Pattern Recognition and Machine Learning", equations 3.53, 3.54 and 3.58.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.exact_linear_regression.integrals import Collapsed, Integral, MonteCarlo, Real
from bnnbench.methods.exact_linear_regression.posterior import LinearPosterior, exact_posterior
from bnnbench.methods.fitting.settings import require_count, require_positive
from bnnbench.methods.integration import sums
from bnnbench.methods.tuning.space import Space


@dataclass(frozen=True)
class ExactLinear:
    """The conjugate posterior of a linear model with known noise."""

    card: ClassVar[Card] = Card(
        "sampling", problems=("linear regression",), restarts="a fit of milliseconds"
    )
    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()

    prior_std: float = 1.0

    def __post_init__(self) -> None:
        require_positive(self, "prior_std")

    def fit(self, problem: Problem, rng: torch.Generator) -> LinearPosterior:
        """Return the posterior; the stream is not used."""
        return exact_posterior(problem, self.prior_std)


@dataclass(frozen=True)
class DrawsPosterior:
    """The exact posterior, represented only by some draws."""

    exact: LinearPosterior
    integral: Integral
    count: int

    @property
    def diagnostics(self) -> dict[str, float]:
        """The number of draws."""
        return {"draws": float(self.count)}

    def predict(self, inputs: Float[Tensor, "points features"], rng: torch.Generator) -> Real:
        """Return the distribution of the target, given draws from `rng`."""
        weights = self.exact.draws(self.count, rng)
        return self.integral.predictive(weights, inputs, self.exact.noise_std)


@dataclass(frozen=True)
class LinearFromDraws:
    """Some draws from the exact posterior of a linear model, and an integral over them."""

    card: ClassVar[Card] = Card(
        "sampling", problems=("linear regression",), restarts="a fit of milliseconds"
    )
    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()

    integral: Integral = field(default_factory=MonteCarlo)
    """The integral over draws that makes the prediction."""
    draws: int = 5
    """Known draws from the exact posterior."""
    prior_std: float = 1.0

    def __post_init__(self) -> None:
        require_count(self, "draws", least=2 if isinstance(self.integral, Collapsed) else 1)
        require_positive(self, "prior_std")

    def warm_up(self, problem: Problem) -> None:
        """Compile the integrals over boxes."""
        if isinstance(self.integral, Collapsed):
            sums.warm_up(problem.train.inputs.device)

    def fit(self, problem: Problem, rng: torch.Generator) -> DrawsPosterior:
        """Return the posterior; the stream is not used."""
        return DrawsPosterior(exact_posterior(problem, self.prior_std), self.integral, self.draws)
