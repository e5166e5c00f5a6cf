r"""Rank-1 weights: members share a matrix and scale its inputs and outputs at random.

$$ W_m = \bar W \odot v_m u_m^T, \quad u_m, v_m \text{ Gaussian} $$

Sources: Dusenberry et al. (2020), "Efficient and Scalable Bayesian Neural Nets with Rank-1
Factors"; Wen, Tran and Ba (2020), "BatchEnsemble"; paper 003, appendix A.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.methods.base import Posterior
from bnnbench.methods.fitting.randomness import normal
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.function_space.base import At, Numbers, Rngs, SampledPosterior
from bnnbench.methods.function_space.models import Map
from bnnbench.methods.function_space.weights import hidden_weights, repeated, replaced, softplus
from bnnbench.methods.mfvi import kl_to_prior
from bnnbench.methods.networks.shapes import ParameterSlice
from bnnbench.methods.networks.torch_network import TorchNetwork


@dataclass(frozen=True)
class Rank1(Map):
    """`size` members, each with Gaussian factors in every layer except the last.

    Factors start with mean 1 and s = softplus(ρ). In training each member sees its own part of
    the batch; if it does not divide evenly, the first examples are used twice. A prediction
    draws the factors of every member `draws` times.
    """

    size: int = 4
    rho: float = -3.0
    prior_std: float = 0.1
    """Standard deviation of the prior of factors, around 1."""
    weight_decay: float = 1e-4
    """Weight decay of shared weights, biases and norms, in weight space."""
    draws: int = 1

    def __post_init__(self) -> None:
        require_count(self, "size", "draws")
        require_positive(self, "prior_std")
        require_between(self, 0.0, math.inf, "weight_decay")

    @property
    def networks(self) -> int:
        """Number of members."""
        return self.size

    def initial(self, network: TorchNetwork, weights: Tensor, rngs: Rngs) -> Numbers:
        """Return shared weights, followed by means and ρ of the factors of all members."""
        count = self.size * sum(_widths(network))
        ones, rho = (weights.new_full((len(weights), count), value) for value in (1.0, self.rho))
        return torch.cat([weights, ones, rho], 1)

    def weights(self, network: TorchNetwork, numbers: Numbers, rngs: Rngs) -> Tensor:
        """Return one draw for each member of each problem."""
        shared, mean, std = self._parts(network, numbers)
        drawn = mean + std * normal(rngs, mean.shape[1], dtype=mean.dtype)
        factors = drawn.view(len(numbers) * self.size, -1).split(_widths(network), 1)
        every, parts = repeated(shared, self.size), hidden_weights(network)
        scaled = [
            _scaled(every[:, part.offset : part.stop], part, outer, inner)
            for part, outer, inner in zip(parts, factors[0::2], factors[1::2], strict=True)
        ]
        return replaced(every, parts, scaled)

    def shown(self, batch: Tensor) -> Tensor:
        """Return each member's part of the batch."""
        size = batch.shape[1]
        rows = torch.arange(self.size * -(-size // self.size), device=batch.device) % size
        return batch[:, rows].unflatten(1, (self.size, -1)).flatten(0, 1)

    def gathered(self, outputs: Tensor) -> Tensor:
        """Return the joined parts as a single draw."""
        return outputs.unflatten(0, (-1, self.size)).flatten(1, 2).unsqueeze(0)

    def penalty(self, network: TorchNetwork, numbers: Numbers, rows: int) -> Tensor:
        """Return the factors' KL divergence per row, plus the decay of shared weights."""
        shared, mean, std = self._parts(network, numbers)
        decay = 0.5 * self.weight_decay * shared.square().sum(1)
        return kl_to_prior(mean - 1, std, self.prior_std) / rows + decay

    def posterior(self, network: TorchNetwork, at: At, numbers: Tensor) -> Posterior:
        """Return the posterior over drawn factors."""
        means = numbers[: network.parameter_count].expand(self.networks, -1)
        return SampledPosterior(self, numbers.unsqueeze(0), at(means), self.draws)

    def _parts(self, network: TorchNetwork, numbers: Numbers) -> tuple[Tensor, Tensor, Tensor]:
        """Return shared weights, and means and standard deviations of the factors."""
        shared, factors = numbers.tensor_split([network.parameter_count], 1)
        mean, rho = factors.chunk(2, 1)
        return shared, mean, softplus(rho)


def _widths(network: TorchNetwork) -> list[int]:
    """Return the numbers of outputs and inputs of each layer with factors, in order."""
    return [width for part in hidden_weights(network) for width in part.shape[:2]]


def _scaled(weights: Tensor, part: ParameterSlice, outer: Tensor, inner: Tensor) -> Tensor:
    """Return the flat weights of one layer times the factors of its outputs and inputs."""
    product = (outer.unsqueeze(2) * inner.unsqueeze(1)).unsqueeze(3)
    return (weights.view(len(weights), *part.shape[:2], -1) * product).flatten(1)
