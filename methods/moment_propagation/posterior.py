"""Predictions by one pass of moments, with fixed or Gaussian weights."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import require_classifier
from bnnbench.methods.fitting.network_posterior import POINTS_AT_ONCE, NetworkPosterior
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.rules import Formulas, moment_rules, with_variance
from bnnbench.methods.moments.units.softmax import log_probabilities
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    GaussianPredictive,
    Predictive,
)


@dataclass(frozen=True)
class MomentPosterior:
    """One weight vector, or a Gaussian around it, that predicts by one pass of moments."""

    at_mean: NetworkPosterior
    std: Float[Tensor, " parameters"] | None = None
    """Standard deviation of every weight; None: the weights are fixed."""
    formulas: Formulas = Formulas()
    input_variance: float = 0.0
    diagnostics: dict[str, float] = field(default_factory=dict)

    @torch.no_grad()
    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return one categorical or one Gaussian per point; the stream is not used."""
        trained, network = self.at_mean, self._network()
        chunks = [self._moments(network, points) for points in inputs.split(POINTS_AT_ONCE)]
        mean, variance = (torch.cat(parts, 1) for parts in zip(*chunks, strict=True))
        if isinstance(trained.likelihood, Categorical):
            moments = Moments(mean, variance)
            return CategoricalPredictive(log_probabilities(moments, self.formulas.softmax))
        assert trained.noise_variance is not None
        return GaussianPredictive(mean, variance + trained.noise_variance)

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log probabilities in float64, with gradients; the stream is not used."""
        require_classifier(self.at_mean.likelihood)
        mean, variance = self._moments(self._network(), inputs)
        moments = Moments(mean.double(), variance.double())
        return log_probabilities(moments, self.formulas.softmax).squeeze(0)

    def _network(self) -> TorchNetwork:
        network = self.at_mean.network
        return TorchNetwork(network.architecture, network.input_shape, moment_rules(self.formulas))

    def _moments(self, network: TorchNetwork, points: Tensor) -> tuple[Tensor, Tensor]:
        trained = self.at_mean
        stacks = [trained.weights, *([] if self.std is None else [self.std[None]])]
        x = with_variance(points[None], self.input_variance)
        y = network(stacks, x, buffers=trained.buffers)
        return y.mean, torch.zeros_like(y.mean) if y.variance is None else y.variance
