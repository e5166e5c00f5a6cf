"""The factor graph of an architecture."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from types import ModuleType
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from bnnbench.methods.base import Unsupported
from bnnbench.methods.fitting.settings import require_choice
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.layers import base
from bnnbench.methods.message_passing.layers.base import Layer, Visit
from bnnbench.methods.message_passing.layers.elementwise import Activation, Flatten, MaxPool
from bnnbench.methods.message_passing.layers.first import FirstLayer, FirstLayerOfExamples
from bnnbench.methods.message_passing.layers.later import LaterLayer
from bnnbench.methods.message_passing.layers.pooling import AveragePool, ClarkMaxPool
from bnnbench.methods.message_passing.layers.residual import Residual
from bnnbench.methods.message_passing.layers.weighted import WeightedLayer, Weights
from bnnbench.methods.message_passing.maps.base import Dense
from bnnbench.methods.message_passing.maps.convolution import Convolution
from bnnbench.methods.message_passing.maps.sums import Order
from bnnbench.methods.networks import architectures
from bnnbench.methods.networks.architectures import Architecture
from bnnbench.methods.networks.shapes import output_shape

MaxPooling = Literal["published", "clark"]

LARGE_FAN_IN = 64
"""Minimum fan-in for which a message's own share of a pre-activation's variance is neglected."""


@dataclass(frozen=True)
class MessageAccuracy:
    """The accuracy of sums of messages (maps/sums.py, layers/first.py).

    `by_fan_in`: sums are exact below a fan-in of 64, and a first layer stores each example's
    messages. From 64 on they are of zeroth order; a first layer uses the first order and rebuilt
    cavities. With `exact`, `example` and a `Sequential` schedule, messages are the published ones
    to rounding.
    """

    order: Order | Literal["by_fan_in"] = "by_fan_in"
    cavity: Literal["row", "example", "by_fan_in"] = "by_fan_in"
    """The cavities of a first layer. `row` rebuilds each row's (a convolution's position) from two
    numbers per output; `example` stores the messages of every example. Rebuilding is accurate only
    if a weight's share of its pre-activation's variance is below one half."""

    def __post_init__(self) -> None:
        require_choice(self, "order", ("by_fan_in", *get_args(Order)))
        require_choice(self, "cavity", ("by_fan_in", "row", "example"))

    def of(self, fan_in: int) -> tuple[Order, bool]:
        """Return a layer's order, and whether a first layer stores its examples' messages."""
        small = fan_in < LARGE_FAN_IN
        order = self.order if self.order != "by_fan_in" else "exact" if small else "zeroth"
        return order, self.cavity == "example" or (self.cavity == "by_fan_in" and small)


class Network:
    """Layers from the data to the outputs; weighted layers in the order of parameters."""

    def __init__(
        self,
        architecture: Architecture,
        input_shape: tuple[int, ...],
        kernels: ModuleType,
        accuracy: MessageAccuracy = MessageAccuracy(),
        max_pool: MaxPooling = "published",
    ) -> None:
        self.kernels, self.accuracy, self.max_pool = kernels, accuracy, max_pool
        self.weighted: list[WeightedLayer] = []
        self.layers = self._layers(architecture, input_shape, observed=True)
        if not self.weighted:
            raise Unsupported("needed a network with weights; got none")

    def _layers(
        self, architecture: Architecture, shape: tuple[int, ...], observed: bool
    ) -> tuple[Layer, ...]:
        layers = []
        for layer in architecture:
            layers.append(self._layer(layer, shape, observed))
            observed = observed and isinstance(layer, architectures.Flatten)
            shape = output_shape((layer,), shape)
        return tuple(layers)

    def _layer(self, layer: architectures.Layer, shape: tuple[int, ...], observed: bool) -> Layer:
        match layer:
            case architectures.Flatten():
                return Flatten()
            case architectures.Linear():
                return self._weighted(Dense(layer, *shape), observed)
            case architectures.Conv2d():
                return self._convolution(Convolution(layer, shape), observed)
        if observed and not isinstance(layer, architectures.TorchModule):
            raise Unsupported(f"needed a layer with weights before {layer}; got observed inputs")
        match layer:
            case architectures.LeakyReLU(slope) if 0 < slope <= 1:
                return Activation(slope, self.kernels)
            case architectures.ReLU():
                return Activation(0.0, self.kernels)
            case architectures.MaxPool2d(size) if self.max_pool == "clark":
                return ClarkMaxPool(size)
            case architectures.MaxPool2d(size):
                return MaxPool(size, self.kernels)
            case architectures.AvgPool2d(size):
                return AveragePool(size)
            case architectures.GlobalAvgPool2d():
                return AveragePool(None)
            case architectures.Residual(body, shortcut):
                return Residual(
                    self._layers(body, shape, False), self._layers(shortcut, shape, False)
                )
        raise Unsupported(
            "needed Linear, Conv2d, LeakyReLU with slope in (0, 1], ReLU, MaxPool2d, AvgPool2d, "
            f"GlobalAvgPool2d, Flatten or Residual; got {layer}"
        )

    def _weighted(self, map: Dense | Convolution, observed: bool) -> WeightedLayer:
        order, by_example = self.accuracy.of(prod(map.weight_shape[1:]))
        first = FirstLayerOfExamples if by_example else FirstLayer
        kind = first if observed else LaterLayer
        layer = kind(map, order, self.kernels)
        self.weighted.append(layer)
        return layer

    def _convolution(self, map: Convolution, observed: bool) -> WeightedLayer:
        if not observed and map.layer.padding_mode == "symmetric" and any(map.layer.borders):
            raise Unsupported(
                "needed zero padding; symmetric padding works only in the first layer; "
                f"got {map.layer}"
            )
        return self._weighted(map, observed)

    def start_from(self, weights: Sequence[Weights]) -> None:
        """Set the marginals of the layers' weights."""
        for layer, marginal in zip(self.weighted, weights, strict=True):
            layer.start_from(marginal)

    def open(self, visit: Visit) -> None:
        """Begin a visit of a batch."""
        for layer in self.layers:
            layer.open(visit)

    def forward(self, x: Tensor, visit: Visit) -> tuple[Gaussian, list[Any]]:
        """Return the messages to the outputs of the visit's group, and the layers' residues."""
        return base.forward(self.layers, x, visit)

    def backward(self, residues: list[Any], message: Gaussian, visit: Visit) -> None:
        """Send the messages of the visit's group to all weights; `residues` is emptied."""
        base.backward(self.layers, residues, message, visit)

    def predict(self, x: Tensor) -> Gaussian:
        """Return the messages (means and variances) of new examples to the outputs."""
        message: Gaussian | Tensor = x
        for layer in self.layers:
            message = layer.predict(message)
        assert isinstance(message, Gaussian)
        return message


def members(weights: Sequence[Weights], index: Tensor) -> Iterator[Weights]:
    """Yield the layers' weights of some members."""
    return (layer.of_members(index) for layer in weights)


def with_members(weights: Sequence[Weights], index: Tensor, new: Sequence[Weights]) -> None:
    """Overwrite the weights of some members in place."""
    for layer, new_layer in zip(weights, new, strict=True):
        for target, source in zip(layer.parts(), new_layer.parts(), strict=True):
            target.tau[index], target.rho[index] = source.tau, source.rho


def all_proper(weights: Sequence[Weights]) -> Tensor:
    """Return which members' weights are all proper."""
    return torch.stack([layer.is_proper() for layer in weights]).all(0)
