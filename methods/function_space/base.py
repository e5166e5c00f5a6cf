"""The interface of models, and the posterior of a model with random weights.

A model has one flat vector of numbers per problem and computes weights from it; random weights
are redrawn at every step. Source: paper 003, appendix A.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from bnnbench.methods.base import Posterior
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.networks.architectures import Architecture, Layer
from bnnbench.methods.networks.passes import Rule
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.predictions.predictive import Predictive

Numbers = Float[Tensor, "problems numbers"]
Rngs = Sequence[torch.Generator]
At = Callable[[Float[Tensor, "networks parameters"]], NetworkPosterior]


@runtime_checkable
class Model(Protocol):
    """A frozen dataclass that defines how weights are computed."""

    @property
    def networks(self) -> int:
        """Number of networks per problem, trained side by side."""
        ...

    @property
    def rules(self) -> Mapping[type[Layer], Rule] | None:
        """Rules of layers in training that differ from the standard ones; None for no rule."""
        ...

    def architecture(self, architecture: Architecture) -> Architecture:
        """Return the architecture that is trained."""
        ...

    def initial(
        self, network: TorchNetwork, weights: Float[Tensor, "problems parameters"], rngs: Rngs
    ) -> Numbers:
        """Return the initial numbers, given initial weights."""
        ...

    def weights(
        self, network: TorchNetwork, numbers: Numbers, rngs: Rngs
    ) -> Tensor | tuple[Tensor, ...]:
        """Return the weights of every problem's networks for one step, drawn if random."""
        ...

    def shown(
        self, batch: Shaped[Tensor, "problems batch *rest"]
    ) -> Shaped[Tensor, "networks part *rest"]:
        """Return the part of its problem's batch that each network sees."""
        ...

    def gathered(
        self, outputs: Shaped[Tensor, "networks part outputs"]
    ) -> Shaped[Tensor, "draws problems points outputs"]:
        """Return the draws of each problem's function, given the outputs of its networks."""
        ...

    def penalty(
        self, network: TorchNetwork, numbers: Numbers, rows: int
    ) -> Float[Tensor, " problems"]:
        """Return the weights' divergence from their prior, in nats per training row."""
        ...

    def posterior(
        self, network: TorchNetwork, at: At, numbers: Float[Tensor, " numbers"]
    ) -> Posterior:
        """Return the posterior of one problem; `at` returns the posterior at given weights."""
        ...


@runtime_checkable
class SampledModel(Model, Protocol):
    """A model whose training steps use draws of its weights, not means and deviations."""

    def weights(self, network: TorchNetwork, numbers: Numbers, rngs: Rngs) -> Tensor:
        """Return a draw of the weights of every problem's networks."""
        ...


@dataclass(frozen=True)
class SampledPosterior:
    """A model whose weights are redrawn for each prediction, `draws` times per network."""

    model: SampledModel
    numbers: Float[Tensor, "1 numbers"]
    at_mean: NetworkPosterior
    draws: int

    @property
    def diagnostics(self) -> dict[str, float]:
        """Diagnostics of the fit."""
        return self.at_mean.diagnostics

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Predictive:
        """Return the mixture over drawn weights."""
        return self._drawn(rng).predict(inputs, rng)

    def log_probs(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> Float[Tensor, "points classes"]:
        """Return the log of the mean probabilities over drawn weights, with gradients."""
        return self._drawn(rng).log_probs(inputs, rng)

    def _drawn(self, rng: torch.Generator) -> NetworkPosterior:
        network = self.at_mean.network
        weights = [self.model.weights(network, self.numbers, [rng]) for _ in range(self.draws)]
        buffers = self.at_mean.buffers.repeat(self.draws, 1)
        return replace(self.at_mean, weights=torch.cat(weights), buffers=buffers)
