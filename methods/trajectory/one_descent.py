"""SGD, SWAG and subspace inference by the iterates of one descent, as mixtures or as Gaussians.

Methods that differ only in what they do with the iterates share a descent; each has the weights
that it has with a descent of its own. Izmailov et al. (2019), "Subspace Inference for Bayesian
Deep Learning", score regressions by one Gaussian with the moments of the mixture of draws.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import (
    InferenceDiverged,
    Posterior,
    PriorUse,
    Problem,
    Unsupported,
    differentiable,
)
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.settings import require_count
from bnnbench.methods.predictions.base import Predictive
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.trajectory.collector import Descending, Descent, follow, require_iterates
from bnnbench.methods.trajectory.ended import Ended, Use, ended_of, used
from bnnbench.methods.trajectory.last_iterate import LastIterate
from bnnbench.methods.trajectory.moments import Moments
from bnnbench.methods.tuning.space import Space


@dataclass(frozen=True)
class OneDescentPosterior:
    """The posterior of a use of the iterates, and the descent, which other uses may share."""

    posterior: NetworkPosterior
    ended: Ended
    gaussian: bool

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """Diagnostics of the use."""
        return self.posterior.diagnostics

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the mixture over draws, or one Gaussian per point and output with its moments."""
        prediction = self.posterior.predict(inputs, rng)
        if not self.gaussian:
            return prediction
        assert isinstance(prediction, GaussianPredictive)
        return GaussianPredictive(prediction.mean[None], prediction.variance[None])

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the mean probabilities over draws, with gradient."""
        return differentiable(self.posterior).log_probs(inputs, rng)


@dataclass(frozen=True)
class OneDescent(Descending):
    """A method on the iterates of a descent that other methods share."""

    card: ClassVar[Card] = Card("trajectories")
    space: ClassVar[Space] = Space()
    of_predictions: ClassVar = ("method", "gaussian")

    training: Descent = field(default_factory=Descent)
    """The shared descent, which is also the method's."""
    method: Use = field(default_factory=lambda: LastIterate(Descent()))
    """The use of the iterates, and its settings."""
    gaussian: bool = False
    """If true, a regression predicts one Gaussian with the moments of the mixture of draws."""
    deviations: int = 20
    """Number of last iterates whose deviations from the running mean are kept."""

    def __post_init__(self) -> None:
        require_iterates(self, self.training, 2)
        require_count(self, "deviations", least=2)
        if self.method.training != self.training:
            raise ValueError(
                f"OneDescent needs the method's descent to be its own; got {self.training} and "
                f"{self.method.training}"
            )
        if self._deviations_used > self.deviations:
            raise ValueError(
                f"OneDescent needs deviations of at least {self._deviations_used}, which its "
                f"method uses; got {self.deviations}"
            )

    @property
    def _deviations_used(self) -> int:
        return getattr(self.method, "deviations", getattr(self.method, "rank", 0))

    @property
    def prior_use(self) -> PriorUse:
        """The prior use of the method."""
        return self.method.prior_use

    def fit_stack(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem; raises `Unsupported` for Gaussians of classes."""
        self._require(problems[0])
        moments = Moments(self.deviations)
        stack = follow(
            problems,
            rngs,
            self.training,
            lambda now: moments.add(now.weights.detach()),
            changing=[moments.changing],
        )
        posteriors: list[Posterior | InferenceDiverged] = []
        for m, problem in enumerate(problems):
            try:
                posteriors.append(self._posterior(ended_of(stack, moments, problem, m)))
            except InferenceDiverged as failure:
                posteriors.append(failure)
        return stack.outcomes(posteriors, moments.mean, moments.variance)

    def from_fit(self, posterior: Posterior) -> Posterior:
        """Return the posterior of a descent by this method's use of its iterates."""
        assert isinstance(posterior, OneDescentPosterior)
        self._require(posterior.ended.problem)
        return self._posterior(posterior.ended)

    def _require(self, problem: Problem) -> None:
        if self.gaussian and isinstance(problem.likelihood, Categorical):
            raise Unsupported("needed real targets for a Gaussian; got classes: use gaussian=False")

    def _posterior(self, ended: Ended) -> OneDescentPosterior:
        return OneDescentPosterior(used(ended, self.method), ended, self.gaussian)
