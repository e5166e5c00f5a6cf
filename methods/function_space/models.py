"""Models: a point estimate, an ensemble, dropout, and independent Gaussian weights."""

from dataclasses import dataclass, field, replace
from typing import get_args

import torch
from torch import Tensor

from bnnbench.methods.base import Posterior, Unsupported
from bnnbench.methods.fitting.network_posterior import DiagonalGaussianPosterior
from bnnbench.methods.fitting.randomness import spawn
from bnnbench.methods.fitting.settings import (
    earlier,
    require_between,
    require_choice,
    require_count,
    require_positive,
)
from bnnbench.methods.function_space.base import At, Numbers, Rngs
from bnnbench.methods.function_space.weights import repeated, softplus
from bnnbench.methods.mc_dropout import (
    McDropoutPosterior,
    Where,
    dropout_refusal,
    has_dropout,
    with_dropout,
)
from bnnbench.methods.mfvi import SAMPLING_RULES, kl_to_prior
from bnnbench.methods.networks.architectures import Architecture
from bnnbench.methods.networks.torch_network import TorchNetwork


@dataclass(frozen=True)
class Map:
    """One weight vector."""

    networks = 1
    rules = None

    def architecture(self, architecture: Architecture) -> Architecture:
        """Return the architecture unchanged."""
        return architecture

    def initial(self, network: TorchNetwork, weights: Tensor, rngs: Rngs) -> Numbers:
        """Return the weights."""
        return weights

    def weights(
        self, network: TorchNetwork, numbers: Numbers, rngs: Rngs
    ) -> Tensor | tuple[Tensor, ...]:
        """Return the numbers, which are the weights."""
        return numbers

    def shown(self, batch: Tensor) -> Tensor:
        """Return the batch."""
        return batch

    def gathered(self, outputs: Tensor) -> Tensor:
        """Return the outputs as the only draw."""
        return outputs.unsqueeze(0)

    def penalty(self, network: TorchNetwork, numbers: Numbers, rows: int) -> Tensor:
        """Return 0: the optimiser's weight decay is the prior of a point estimate."""
        return numbers.new_zeros(len(numbers))

    def posterior(self, network: TorchNetwork, at: At, numbers: Tensor) -> Posterior:
        """Return the posterior with all mass at the weights."""
        return at(numbers.unsqueeze(0))


@dataclass(frozen=True)
class Members(Map):
    """`size` weight vectors, trained on the same batches and used as draws of one function."""

    size: int = 10

    def __post_init__(self) -> None:
        require_count(self, "size")

    @property
    def networks(self) -> int:
        """Number of members."""
        return self.size

    def initial(self, network: TorchNetwork, weights: Tensor, rngs: Rngs) -> Numbers:
        """Return every member's weights, each drawn from its own stream."""
        member_rngs = [child for rng in rngs for child in spawn(rng, self.size)]
        return network.initial_weights(member_rngs, dtype=weights.dtype).view(len(rngs), -1)

    def weights(self, network: TorchNetwork, numbers: Numbers, rngs: Rngs) -> Tensor:
        """Return the members' weights."""
        return numbers.view(-1, network.parameter_count)

    def shown(self, batch: Tensor) -> Tensor:
        """Return the whole batch for every member."""
        return repeated(batch, self.networks)

    def gathered(self, outputs: Tensor) -> Tensor:
        """Return the outputs with one draw per member."""
        return outputs.unflatten(0, (-1, self.networks)).movedim(1, 0)

    def posterior(self, network: TorchNetwork, at: At, numbers: Tensor) -> Posterior:
        """Return the mixture of the members."""
        return at(numbers.view(self.size, -1))


@dataclass(frozen=True)
class Dropout(Map):
    """One weight vector with dropout before linear layers.

    Training draws `masks` masks for every example; a prediction draws `draws` masks for all
    examples.
    """

    rate: float = 0.1
    draws: int = 10
    masks: int = 1
    where: Where = field(default="hidden", metadata=earlier("every"))
    """hidden: before linear layers, except one that reads the inputs; every: inputs too."""

    def __post_init__(self) -> None:
        require_between(self, 0.0, 1.0, "rate")
        require_positive(self, "rate")
        require_choice(self, "where", get_args(Where))
        require_count(self, "draws", "masks")

    @property
    def networks(self) -> int:
        """Number of masks."""
        return self.masks

    shown = Members.shown
    gathered = Members.gathered

    def architecture(self, architecture: Architecture) -> Architecture:
        """Return the architecture with dropout; raises `Unsupported` if no layer is linear."""
        dropped = with_dropout(architecture, self.rate, self.where)
        if not has_dropout(dropped):
            raise Unsupported(dropout_refusal(architecture, self.where))
        return dropped

    def weights(self, network: TorchNetwork, numbers: Numbers, rngs: Rngs) -> Tensor:
        """Return the weights, repeated for each mask."""
        return repeated(numbers, self.masks)

    def posterior(self, network: TorchNetwork, at: At, numbers: Tensor) -> Posterior:
        """Return the mixture over masks."""
        by_mask = at(numbers.expand(self.masks, -1))
        # In training each mask has its own running statistics.
        averaged = replace(
            by_mask, weights=numbers[None], buffers=by_mask.buffers.mean(0, keepdim=True)
        )
        return McDropoutPosterior(averaged, self.draws)


@dataclass(frozen=True)
class MeanField(Map):
    """Independent Gaussian weights N(m, softplus(ρ)²), by local reparametrisation."""

    rho: float = -5.0
    """Initial value of ρ."""
    prior_std: float = 1.0
    draws: int = 10

    rules = SAMPLING_RULES

    def __post_init__(self) -> None:
        require_positive(self, "prior_std")
        require_count(self, "draws")

    def initial(self, network: TorchNetwork, weights: Tensor, rngs: Rngs) -> Numbers:
        """Return initial weights as means, followed by ρ."""
        return torch.cat([weights, torch.full_like(weights, self.rho)], 1)

    def weights(self, network: TorchNetwork, numbers: Numbers, rngs: Rngs) -> tuple[Tensor, Tensor]:
        """Return mean and standard deviation."""
        mean, rho = numbers.chunk(2, 1)
        return mean, softplus(rho)

    def penalty(self, network: TorchNetwork, numbers: Numbers, rows: int) -> Tensor:
        """Return the KL divergence from N(0, prior_std²), per row."""
        return kl_to_prior(*self.weights(network, numbers, ()), self.prior_std) / rows

    def posterior(self, network: TorchNetwork, at: At, numbers: Tensor) -> Posterior:
        """Return the posterior over Gaussian weights."""
        mean, rho = numbers.chunk(2)
        return DiagonalGaussianPosterior(at(mean.unsqueeze(0)), softplus(rho), self.draws)
