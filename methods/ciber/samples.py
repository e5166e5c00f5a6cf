"""Samples of a network's weights, with its last layers separate."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical, Likelihood
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.ciber.boxes import Bounds, Sides, sides
from bnnbench.methods.fitting.network_posterior import POINTS_AT_ONCE, draws_at_once
from bnnbench.methods.networks.architectures import Linear, ReLU
from bnnbench.methods.networks.heteroscedastic import softplus
from bnnbench.methods.networks.shapes import ParameterSlice
from bnnbench.methods.networks.torch_network import TorchNetwork


@dataclass(frozen=True)
class Dense:
    """A linear layer: the weights and biases of every sample, and their boxes."""

    weight: Float[Tensor, "samples outputs inputs"]
    bias: Float[Tensor, "samples outputs"]
    """Biases; a layer without biases has zeros, in a box of zero width."""
    weight_box: Sides
    bias_box: Sides
    bounds: Bounds

    def __call__(
        self, inputs: Float[Tensor, "samples points inputs"]
    ) -> Float[Tensor, "samples points outputs"]:
        """Return the outputs of every sample."""
        return inputs @ self.weight.mT + self.bias[:, None]


@dataclass(frozen=True)
class Samples:
    """The iterates of a trajectory, and the box around them."""

    network: TorchNetwork
    likelihood: Likelihood
    weights: Float[Tensor, "samples parameters"]
    buffers: Float[Tensor, "samples buffers"]
    noise_variance: float | Float[Tensor, " samples"] | None
    """Noise variance; None for a classifier, or if it depends on the input."""
    bounds: Bounds

    @cached_property
    def box(self) -> Sides:
        """The box around the samples."""
        return sides(self.weights, self.bounds)

    def dense(self, place: int) -> Dense:
        """Return a linear layer, counted from the end: -1 is the last."""
        index = len(self.network.architecture) + place
        parts = {part.path: part for part in self.network.parameters}
        weight = parts[f"{index}.weight"]
        bias = parts.get(f"{index}.bias")
        if bias is None:
            zeros = self.weights.new_zeros(weight.shape[0])
            none = self.weights.new_zeros(len(self.weights), weight.shape[0])
            point = Sides(zeros, zeros, zeros)
            return Dense(self._values(weight), none, self._box(weight), point, self.bounds)
        values = self._values(weight), self._values(bias)
        return Dense(*values, self._box(weight), self._box(bias), self.bounds)

    def _values(self, part: ParameterSlice) -> Tensor:
        return self.weights[:, part.offset : part.stop].view(-1, *part.shape)

    def _box(self, part: ParameterSlice) -> Sides:
        return self.box.part(part.offset, part.shape)

    def features(
        self, inputs: Float[Tensor, "points *features"], before: int
    ) -> Float[Tensor, "samples points units"]:
        """Return the inputs of a layer, counted from the end, with gradients to `inputs`."""
        body = self._bodies[before]
        weights = self.weights[:, : body.parameter_count]
        buffers = self.buffers[:, : body.buffer_count]
        size = draws_at_once(body)
        rows = []
        for weights_chunk, buffers_chunk in zip(
            weights.split(size), buffers.split(size), strict=True
        ):
            chunks = [
                body(weights_chunk, p[None], buffers=buffers_chunk)
                for p in inputs.split(POINTS_AT_ONCE)
            ]
            rows.append(torch.cat(chunks, 1))
        return torch.cat(rows)

    @cached_property
    def _bodies(self) -> dict[int, TorchNetwork]:
        network = self.network
        places = (index for index in (-1, -3) if len(network.architecture) + index >= 0)
        return {p: TorchNetwork(network.architecture[:p], network.input_shape) for p in places}

    def noise(
        self, raw: Float[Tensor, "samples points outputs"]
    ) -> Float[Tensor, "samples points 1"]:
        """Return the noise variance of each sample at each point, from the network's outputs."""
        if isinstance(self.noise_variance, Tensor):
            return self.noise_variance.to(raw)[:, None, None].expand_as(raw[..., :1])
        if self.noise_variance is not None:
            return torch.full_like(raw[..., :1], self.noise_variance)
        return softplus(raw[..., 1:]) + softplus(self.weights[:, -1:, None])


def require_layers(problem: Problem, second: bool) -> None:
    """Raise `Unsupported` unless the last layers have a form that can be collapsed."""
    architecture, classifier = problem.architecture, isinstance(problem.likelihood, Categorical)
    if not architecture or not isinstance(architecture[-1], Linear):
        raise Unsupported(
            "needed a network that ends in a linear layer, to collapse its weights; got "
            f"{', '.join(map(str, architecture)) or 'no layers'}"
        )
    if not classifier and problem.train.targets.shape[1:] != (1,):
        raise Unsupported("needed a regression with one target; got several")
    if second and classifier:
        raise Unsupported("needed a regression to collapse the layer before the last; got classes")
    ends = tuple(type(layer) for layer in architecture[-3:])
    if second and ends != (Linear, ReLU, Linear):
        raise Unsupported(
            "needed a network that ends in a linear layer, ReLU and a linear layer; got "
            f"{', '.join(map(str, architecture[-3:]))}"
        )
