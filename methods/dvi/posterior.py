"""A Gaussian over every weight that predicts by a single pass of moments."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.dvi.likelihood import MeanAndLogVariance
from bnnbench.methods.dvi.propagation import Covariance, propagation_rules
from bnnbench.methods.fitting.network_posterior import POINTS_AT_ONCE
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.predictions.predictive import GaussianPredictive


@dataclass(frozen=True)
class DviPosterior:
    """Means and standard deviations of the weights, and the noise."""

    network: TorchNetwork
    mean: Float[Tensor, " parameters"]
    std: Float[Tensor, " parameters"]
    noise_variance: float | None
    """Noise variance in squared standardised target units; None: the network gives each target's
    log variance.
    """
    covariance: Covariance
    order: int
    diagnostics: dict[str, float]

    @torch.no_grad()
    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> GaussianPredictive:
        """Return the Gaussian of each target's mean and variance; the stream is not used."""
        old = self.network
        rules = propagation_rules(self.covariance, self.order)
        network = TorchNetwork(old.architecture, old.input_shape, rules)
        stacks = self.mean[None], self.std[None]
        means, variances = [], []
        for points in inputs.split(POINTS_AT_ONCE):
            y = network(stacks, Moments(points[None]))
            if self.noise_variance is None:
                outputs = MeanAndLogVariance.of(y)
                means.append(outputs.mean)
                variances.append(outputs.variance())
            else:
                means.append(y.mean)
                variances.append(y.variance + self.noise_variance)
        return GaussianPredictive(torch.cat(means, 1), torch.cat(variances, 1))
