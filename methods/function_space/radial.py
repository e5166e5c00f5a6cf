r"""Radial weights: a Gaussian's direction, and a distance that does not grow with dimension.

$$ w = m + s \odot \frac{\epsilon}{\|\epsilon\|} r, \quad \epsilon \sim N(0, I), r \sim N(0, 1) $$

with one direction and distance for each weight tensor. Sources: Farquhar, Osborne and Gal
(2020), "Radial Bayesian Neural Networks"; paper 003, appendix A.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.methods.base import Posterior
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.fitting.settings import require_count, require_positive
from bnnbench.methods.function_space.base import At, Numbers, Rngs, SampledPosterior
from bnnbench.methods.function_space.models import Map
from bnnbench.methods.function_space.weights import hidden_weights, replaced, softplus
from bnnbench.methods.mfvi import kl_to_prior
from bnnbench.methods.networks.torch_network import TorchNetwork


@dataclass(frozen=True)
class Radial(Map):
    """Random weights in every layer except the last, with s = softplus(ρ); biases are points.

    In weight space the divergence is between the Gaussians N(m, s²) and N(0, prior_std²), as in
    paper 003, and does not use the radial density.
    """

    rho: float = -5.0
    """Initial value of ρ."""
    prior_std: float = 0.1
    draws: int = 10

    def __post_init__(self) -> None:
        require_positive(self, "prior_std")
        require_count(self, "draws")

    def initial(self, network: TorchNetwork, weights: Tensor, rngs: Rngs) -> Numbers:
        """Return initial weights as means, followed by ρ of the random ones."""
        count = sum(part.size for part in hidden_weights(network))
        return torch.cat([weights, weights.new_full((len(weights), count), self.rho)], 1)

    def weights(self, network: TorchNetwork, numbers: Numbers, rngs: Rngs) -> Tensor:
        """Return one draw for each problem."""
        mean, parts, std = self._parts(network, numbers)
        values = []
        for part, part_std in zip(parts, std, strict=True):
            noise = normal(rngs, part.size, dtype=mean.dtype)
            length = noise.square().sum(1, keepdim=True).sqrt()
            radius = normal(rngs, 1, dtype=mean.dtype)
            values.append(mean[:, part.offset : part.stop] + part_std * (noise * (radius / length)))
        return replaced(mean, parts, values)

    def penalty(self, network: TorchNetwork, numbers: Numbers, rows: int) -> Tensor:
        """Return the KL divergence between the Gaussians, per row."""
        mean, parts, std = self._parts(network, numbers)
        means = torch.cat([mean[:, part.offset : part.stop] for part in parts], 1)
        return kl_to_prior(means, torch.cat(std, 1), self.prior_std) / rows

    def posterior(self, network: TorchNetwork, at: At, numbers: Tensor) -> Posterior:
        """Return the posterior over drawn weights."""
        means = numbers[: network.parameter_count].expand(self.networks, -1)
        return SampledPosterior(self, numbers.unsqueeze(0), at(means), self.draws)

    def _parts(self, network: TorchNetwork, numbers: Numbers):
        """Return means, the positions of random weights, and their standard deviations."""
        parts = hidden_weights(network)
        mean, rho = numbers.tensor_split([network.parameter_count], 1)
        return mean, parts, softplus(rho).split([part.size for part in parts], 1)
