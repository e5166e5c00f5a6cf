"""What is trained: distributions over networks whose functions a classifier averages.

A model keeps its numbers in one flat vector per problem and makes weights of them, anew for
every step where they are random. Source: paper 003, appendix A.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from methods.architecture_shapes import ParameterSlice
from methods.architectures import Architecture, Conv2d, Layer, Linear
from methods.base import Posterior, Unsupported
from methods.mc_dropout import McDropoutPosterior, has_dropout, with_dropout
from methods.mfvi import SAMPLING_RULES, kl_to_prior
from methods.network_posterior import DiagonalGaussianPosterior, NetworkPosterior
from methods.predictive import Predictive
from methods.randomness import spawn
from methods.settings import require_between, require_count, require_positive
from methods.torch_layers import Rule
from methods.torch_network import TorchNetwork

Numbers = Float[Tensor, "problems numbers"]
Rngs = Sequence[torch.Generator]
At = Callable[[Float[Tensor, "networks parameters"]], NetworkPosterior]


@runtime_checkable
class Model(Protocol):
    """A frozen dataclass that says how weights come about."""

    @property
    def networks(self) -> int:
        """How many networks a problem has in training, side by side."""
        ...

    @property
    def rules(self) -> Mapping[type[Layer], Rule] | None:
        """How layers compute in training, where they do so in a way of their own."""
        ...

    def architecture(self, architecture: Architecture) -> Architecture:
        """Return the architecture as it is trained."""
        ...

    def initial(
        self, network: TorchNetwork, weights: Float[Tensor, "problems parameters"], rngs: Rngs
    ) -> Numbers:
        """Return the numbers to start from, given initial weights."""
        ...

    def weights(
        self, network: TorchNetwork, numbers: Numbers, rngs: Rngs
    ) -> Tensor | tuple[Tensor, ...]:
        """Return the weights of every problem's networks for one step, drawn if random."""
        ...

    def shown(
        self, batch: Shaped[Tensor, "problems batch *rest"]
    ) -> Shaped[Tensor, "networks part *rest"]:
        """Return what every network sees of its problem's batch."""
        ...

    def gathered(
        self, outputs: Shaped[Tensor, "networks part outputs"]
    ) -> Shaped[Tensor, "draws problems points outputs"]:
        """Return the draws of each problem's function out of what its networks were shown."""
        ...

    def penalty(
        self, network: TorchNetwork, numbers: Numbers, rows: int
    ) -> Float[Tensor, " problems"]:
        """Return the divergence of the weights from their prior, in nats per training row."""
        ...

    def posterior(
        self, network: TorchNetwork, at: At, numbers: Float[Tensor, " numbers"]
    ) -> Posterior:
        """Return the posterior of one problem; `at` gives that of weights of its networks."""
        ...


@dataclass(frozen=True)
class Map:
    """One weight vector."""

    networks = 1
    rules = None

    def architecture(self, architecture: Architecture) -> Architecture:
        """Return it unchanged."""
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
        """Return 0: the optimiser's weight decay is the prior of a point."""
        return numbers.new_zeros(len(numbers))

    def posterior(self, network: TorchNetwork, at: At, numbers: Tensor) -> Posterior:
        """Return the posterior that is all on the weights."""
        return at(numbers.unsqueeze(0))


@dataclass(frozen=True)
class Members(Map):
    """`size` weight vectors, trained on the same batches: draws of one function."""

    size: int = 10

    def __post_init__(self) -> None:
        require_count(self, "size")

    @property
    def networks(self) -> int:
        """How many members there are."""
        return self.size

    def initial(self, network: TorchNetwork, weights: Tensor, rngs: Rngs) -> Numbers:
        """Return weights of every member, each from a stream of its own."""
        own = [child for rng in rngs for child in spawn(rng, self.size)]
        return network.initial_weights(own, dtype=weights.dtype).view(len(rngs), -1)

    def weights(self, network: TorchNetwork, numbers: Numbers, rngs: Rngs) -> Tensor:
        """Return the members' weights."""
        return numbers.view(-1, network.parameter_count)

    def shown(self, batch: Tensor) -> Tensor:
        """Return the whole batch for every member."""
        return repeated(batch, self.networks)

    def gathered(self, outputs: Tensor) -> Tensor:
        """Return the outputs with a draw per member."""
        return outputs.unflatten(0, (-1, self.networks)).movedim(1, 0)

    def posterior(self, network: TorchNetwork, at: At, numbers: Tensor) -> Posterior:
        """Return the mixture of the members."""
        return at(numbers.view(self.size, -1))


@dataclass(frozen=True)
class Dropout(Map):
    """One weight vector with dropout in front of every linear layer.

    `masks` are drawn in training for every example, and `draws` in prediction for all.
    """

    rate: float = 0.1
    draws: int = 10
    masks: int = 1

    def __post_init__(self) -> None:
        require_between(self, 0.0, 1.0, "rate")
        require_positive(self, "rate")
        require_count(self, "draws", "masks")

    @property
    def networks(self) -> int:
        """As many as there are masks."""
        return self.masks

    shown = Members.shown
    gathered = Members.gathered

    def architecture(self, architecture: Architecture) -> Architecture:
        """Return it with dropout; raises `Unsupported` where it has no linear layer."""
        dropped = with_dropout(architecture, self.rate)
        if not has_dropout(dropped):
            raise Unsupported("needed a network with a linear layer for dropout; got none")
        return dropped

    def weights(self, network: TorchNetwork, numbers: Numbers, rngs: Rngs) -> Tensor:
        """Return the weights, once for each mask."""
        return repeated(numbers, self.masks)

    def posterior(self, network: TorchNetwork, at: At, numbers: Tensor) -> Posterior:
        """Return the mixture over masks."""
        each = at(numbers.expand(self.masks, -1))
        # Each mask of training has running statistics of its own.
        one = replace(each, weights=numbers[None], buffers=each.buffers.mean(0, keepdim=True))
        return McDropoutPosterior(one, self.draws)


@dataclass(frozen=True)
class MeanField(Map):
    """Independent Gaussian weights N(m, softplus(ρ)²), by local reparametrisation."""

    rho: float = -5.0
    """Where ρ starts."""
    prior_std: float = 1.0
    draws: int = 10

    rules = SAMPLING_RULES

    def __post_init__(self) -> None:
        require_positive(self, "prior_std")
        require_count(self, "draws")

    def initial(self, network: TorchNetwork, weights: Tensor, rngs: Rngs) -> Numbers:
        """Return initial weights as means, beside ρ."""
        return torch.cat([weights, torch.full_like(weights, self.rho)], 1)

    def weights(self, network: TorchNetwork, numbers: Numbers, rngs: Rngs) -> tuple[Tensor, Tensor]:
        """Return mean and standard deviation."""
        mean, rho = numbers.chunk(2, 1)
        return mean, softplus(rho)

    def penalty(self, network: TorchNetwork, numbers: Numbers, rows: int) -> Tensor:
        """Return the KL divergence to N(0, prior_std²) per row."""
        return kl_to_prior(*self.weights(network, numbers, ()), self.prior_std) / rows

    def posterior(self, network: TorchNetwork, at: At, numbers: Tensor) -> Posterior:
        """Return the Gaussian."""
        mean, rho = numbers.chunk(2)
        return DiagonalGaussianPosterior(at(mean.unsqueeze(0)), softplus(rho), self.draws)


@dataclass(frozen=True)
class SampledPosterior:
    """A model whose weights are drawn anew for a prediction, `draws` times for each network."""

    model: Model
    numbers: Float[Tensor, "1 numbers"]
    at_mean: NetworkPosterior
    draws: int

    @property
    def diagnostics(self) -> dict[str, float]:
        """What the fit says about itself."""
        return self.at_mean.diagnostics

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the mixture over drawn weights."""
        return self._drawn(rng).predict(inputs, rng)

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the mean probabilities over drawn weights, with gradient."""
        return self._drawn(rng).log_probs(inputs, rng)

    def _drawn(self, rng: torch.Generator) -> NetworkPosterior:
        network = self.at_mean.network
        drawn = [self.model.weights(network, self.numbers, [rng]) for _ in range(self.draws)]
        buffers = self.at_mean.buffers.repeat(self.draws, 1)
        return replace(self.at_mean, weights=torch.cat(drawn), buffers=buffers)  # type: ignore[arg-type]


def repeated(stacked: Tensor, times: int) -> Tensor:
    """Return every problem's part `times` times in a row."""
    return stacked if times == 1 else stacked.repeat_interleave(times, 0)


def softplus(rho: Tensor) -> Tensor:
    """Return log(1 + exp(ρ)); unlike the library's, it rounds an element alike in any place."""
    return rho.exp().log1p()


def hidden_weights(network: TorchNetwork) -> list[ParameterSlice]:
    """Return where the weights, not biases, of all layers but the last lie.

    Raises `Unsupported` for a network of a single layer.
    """
    weights = [
        part
        for part in network.parameters
        if isinstance(part.layer, Linear | Conv2d) and part.name == "weight"
    ]
    if len(weights) < 2:
        raise Unsupported("needed a hidden layer, whose weights are random; got a single layer")
    return weights[:-1]


def replaced(
    weights: Float[Tensor, "networks parameters"],
    parts: Sequence[ParameterSlice],
    values: Sequence[Float[Tensor, "networks _"]],
) -> Float[Tensor, "networks parameters"]:
    """Return the weights with other values in some places."""
    pieces, done = [], 0
    for part, value in zip(parts, values, strict=True):
        pieces += [weights[:, done : part.offset], value]
        done = part.stop
    return torch.cat([*pieces, weights[:, done:]], 1)
