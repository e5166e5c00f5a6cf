"""Modes of propagation through the same trained network, for comparison with samples.

Training does not depend on the mode, so equal streams give equal weights. Source: paper 001,
section 4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting.network_posterior import POINTS_AT_ONCE, NetworkPosterior
from bnnbench.methods.fitting.settings import LATER, require_choice
from bnnbench.methods.fitting.targets import require_classes
from bnnbench.methods.moment_propagation.method import MomentPropagation
from bnnbench.methods.moment_propagation.posterior import MomentPosterior
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.covariances.covariance import Covariances, covariance_rules
from bnnbench.methods.moments.layerwise import Layerwise
from bnnbench.methods.moments.rules import Formulas, moment_rules
from bnnbench.methods.moments.units.softmax import log_probabilities
from bnnbench.methods.networks.architectures import (
    Architecture,
    GaussianNoise,
    Layer,
    LogisticBernoulli,
)
from bnnbench.methods.networks.passes import Rule
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from bnnbench.methods.tuning.space import Log, Space

Propagation = Literal["ap1", "ap2"]
"""Only means; means and variances."""


POINTS_WITH_COVARIANCES = 2
"""Points per pass with all covariances (units² numbers per point), to bound memory."""
POINTS_BY_RANK = 1024
"""Points times rank per pass, if covariances have a rank."""


@dataclass(frozen=True)
class ApproximatePosterior:
    """A trained classifier that predicts by one mode of propagation."""

    trained: NetworkPosterior
    architecture: Architecture
    """The network, including the noise at its inputs."""
    propagation: Propagation
    formulas: Formulas
    covariances: Covariances | None = None

    @property
    def diagnostics(self) -> dict[str, float]:
        """Diagnostics of the fit."""
        return self.trained.diagnostics

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> CategoricalPredictive:
        """Return one categorical per point; the stream is not used."""
        rule = self.formulas.softmax
        parts = [log_probabilities(self.layers(x)[-1], rule) for x in self._parts(inputs)]
        return CategoricalPredictive(torch.cat(parts)[None])

    @torch.no_grad()
    def layers(self, inputs: Float[Tensor, "points *features"]) -> list[Moments]:
        """Return the moments after every layer, points first; for "ap1" only the means."""
        trained = self.trained
        shape, rules = trained.network.input_shape, self._rules()
        network = Layerwise(self.architecture, shape, rules, _of_points)
        parts = []
        for points in self._parts(inputs):
            x = points[None] if self.propagation == "ap1" else Moments(points[None])
            parts.append(network(trained.weights, x, buffers=trained.buffers, noise="off"))
        return [_joined(pieces) for pieces in zip(*parts, strict=True)]

    @torch.no_grad()
    def samples(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> list[Float[Tensor, "points *units"]]:
        """Return an independent draw for each point after every layer."""
        network = Layerwise(self.architecture, self.trained.network.input_shape)
        options = {"buffers": self.trained.buffers, "noise": "per_example", "rngs": [rng]}
        layers = network(self.trained.weights, inputs[None], **options)
        return [layer[0] for layer in layers]

    def _rules(self) -> Mapping[type[Layer], Rule] | None:
        if self.propagation == "ap1":
            return None
        if self.covariances is None:
            return moment_rules(self.formulas)
        return covariance_rules(self.covariances, self.formulas)

    def _parts(self, inputs: Tensor) -> Sequence[Tensor]:
        if self.covariances is None:
            return inputs.split(POINTS_AT_ONCE)
        rank = self.covariances.rank
        return inputs.split(
            POINTS_WITH_COVARIANCES if rank is None else max(1, POINTS_BY_RANK // rank)
        )


def _of_points(layer: Any) -> Moments:
    """Return a layer's moments without the axis of members and without covariances."""
    if isinstance(layer, Tensor):
        return Moments(layer[0])
    return Moments(layer.mean[0], None if layer.variance is None else layer.variance[0])


def _joined(pieces: Sequence[Moments]) -> Moments:
    """Return the moments of all points."""
    variances = [piece.variance for piece in pieces if piece.variance is not None]
    mean = torch.cat([piece.mean for piece in pieces])
    return Moments(mean, torch.cat(variances) if variances else None)


@dataclass(frozen=True)
class Approximation:
    """A network trained with its own noise, but by default without the noise at its inputs.

    Noise is sampled in training; logistic Bernoulli units, whose samples have no gradient, are
    trained through their moments.
    """

    card: ClassVar[Card] = Card(
        "moments",
        problems=("mlp classification", "cnn classification"),
        gradients=False,
        restarts="its last fit is kept in memory, for every way to propagate",
    )
    of_predictions: ClassVar[tuple[str, ...]] = ("propagation", "formulas", "covariances")

    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space(
        {"training.learning_rate": Log(1e-4, 1e-1)}, length="training.epochs"
    )

    propagation: Propagation = "ap2"
    """Quantities propagated in a prediction: means and variances (ap2), or only means (ap1)."""
    formulas: Formulas = Formulas()
    covariances: Covariances | None = None
    """Covariances that "ap2" propagates in addition to variances."""
    training: MomentPropagation = MomentPropagation(dropout=0.0)
    train_with_input_noise: bool = field(default=False, metadata=LATER)
    """True: training also includes the noise at the inputs, redrawn every time."""

    def __post_init__(self) -> None:
        require_choice(self, "propagation", get_args(Propagation))
        if self.covariances and self.propagation != "ap2":
            raise ValueError(f'covariances need propagation="ap2"; got {self.propagation!r}')
        if self.training.dropout or self.training.input_variance:
            raise ValueError(
                "Approximation needs training with dropout=0 and input_variance=0; put Dropout "
                "and GaussianNoise into the network instead"
            )

    def warm_up(self, problem: Problem) -> None:
        """Compile the moments of the network's units; the last trained network is cached."""
        replace(self.training, training="ap2").warm_up(problem)

    def fit(self, problem: Problem, rng: torch.Generator) -> ApproximatePosterior:
        """Return the posterior; raises `InferenceDiverged` if weights overflow.

        Raises `Unsupported` for a regression.
        """
        require_classes(self, problem.likelihood)
        architecture = problem.architecture
        bernoulli = any(isinstance(layer, LogisticBernoulli) for layer in architecture)
        method = replace(self.training, training="ap2" if bernoulli else "sample")
        trained = tuple(
            layer
            for layer in architecture
            if self.train_with_input_noise or not isinstance(layer, GaussianNoise)
        )
        posterior = method.fit(replace(problem, architecture=trained), rng)
        assert isinstance(posterior, MomentPosterior)
        carried = self.propagation, self.formulas, self.covariances
        return ApproximatePosterior(posterior.at_mean, architecture, *carried)

    def from_fit(self, posterior: Posterior) -> ApproximatePosterior:
        """Return the posterior of the same network with this method's propagation settings."""
        assert isinstance(posterior, ApproximatePosterior)
        carried = self.propagation, self.formulas, self.covariances
        return ApproximatePosterior(posterior.trained, posterior.architecture, *carried)

    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem."""
        return [_outcome(self, *pair) for pair in zip(problems, rngs, strict=True)]


def _outcome(
    method: Approximation, problem: Problem, rng: torch.Generator
) -> Posterior | InferenceDiverged:
    try:
        return method.fit(problem, rng)
    except InferenceDiverged as failure:
        return failure
