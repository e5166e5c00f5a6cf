r"""A Gaussian prior for every layer, with the optimal variance for the posterior.

With $q = N(\mu, \mathrm{diag}(\sigma^2))$ over the D weights of a layer, the prior N(0, s I) and
the hyperprior $s \sim \text{InvGamma}(a, b)$, the penalty $KL(q \| p_s) - \log p(s)$ is minimal at

$$ s = \frac{\sum (\mu^2 + \sigma^2) + 2 b}{D + 2 a + 2}. $$

Source: Wu et al. (2019), "Deterministic Variational Inference for Robust Bayesian Neural
Networks", section 5.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.fitting.settings import require_positive
from bnnbench.methods.networks.shapes import ParameterSlice


@dataclass(frozen=True)
class InverseGamma:
    """The hyperprior of each layer's prior variance; its mode is rate / (shape + 1)."""

    shape: float = 1.0
    rate: float = 10.0

    def __post_init__(self) -> None:
        require_positive(self, "shape", "rate")

    def best_variance(
        self, second_moments: Float[Tensor, "members layers"], sizes: Float[Tensor, " layers"]
    ) -> Float[Tensor, "members layers"]:
        """Return the prior variances of minimal penalty; second moments are sums over weights."""
        return (second_moments + 2 * self.rate) / (sizes + 2 * self.shape + 2)

    def log_density(
        self, variance: Float[Tensor, "members layers"]
    ) -> Float[Tensor, "members layers"]:
        """Return the log density of prior variances, in nats."""
        constant = self.shape * math.log(self.rate) - math.lgamma(self.shape)
        return constant - (self.shape + 1) * variance.log() - self.rate / variance


@dataclass(frozen=True)
class LayerwisePrior:
    """The prior of all layers; weights and bias of a layer share one variance."""

    sizes: tuple[int, ...]
    hyperprior: InverseGamma

    @classmethod
    def of(cls, parameters: Sequence[ParameterSlice], hyperprior: InverseGamma) -> "LayerwisePrior":
        """Return the prior of a network's parameters."""
        layers = groupby(parameters, key=lambda part: part.owner)
        return cls(tuple(sum(part.size for part in parts) for _, parts in layers), hyperprior)

    def variances(
        self, mean: Float[Tensor, "members parameters"], std: Float[Tensor, "members parameters"]
    ) -> Float[Tensor, "members layers"]:
        """Return the best prior variance of every layer for a posterior."""
        second_moments = self._per_layer(mean.square() + std.square())
        return self.hyperprior.best_variance(second_moments, self._counts(mean))

    def kl(
        self, mean: Float[Tensor, "members parameters"], std: Float[Tensor, "members parameters"]
    ) -> Float[Tensor, " members"]:
        """Return KL(q || p) under the best prior variances, in nats."""
        variances = self.variances(mean, std)
        return self._kl(mean, std, variances).sum(1)

    def penalty(
        self, mean: Float[Tensor, "members parameters"], std: Float[Tensor, "members parameters"]
    ) -> Float[Tensor, " members"]:
        """Return KL(q || p) - log p(s) under the best prior variances s, in nats.

        These variances are stationary, so their gradient is not needed.
        """
        variances = self.variances(mean, std).detach()
        return (self._kl(mean, std, variances) - self.hyperprior.log_density(variances)).sum(1)

    def _kl(self, mean: Tensor, std: Tensor, variances: Tensor) -> Tensor:
        second_moments = self._per_layer(mean.square() + std.square())
        entropies = self._per_layer(std.log())
        sizes = self._counts(mean)
        return 0.5 * (second_moments / variances + sizes * (variances.log() - 1)) - entropies

    def _per_layer(self, values: Tensor) -> Tensor:
        return torch.stack([part.sum(1) for part in values.split(self.sizes, 1)], 1)

    def _counts(self, reference: Tensor) -> Tensor:
        return reference.new_tensor(self.sizes)
