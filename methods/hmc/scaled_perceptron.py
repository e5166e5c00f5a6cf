"""A perceptron and its gradient written out: a few batched products into memory that is kept."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Shaped
from torch import Tensor

from bnnbench.datasets.base import Categorical, Likelihood
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.hmc.scaled_networks import STATE_MULTIPLE, padded
from bnnbench.methods.networks.architectures import Layer, LeakyReLU, ReLU, Tanh
from bnnbench.methods.networks.perceptron import as_perceptron

ALIGNMENT = 4
"""Rows and columns of all matrices, so that members lie on boundaries of 16 bytes."""
BYTES_AT_ONCE = 2**20
"""Of activations: what stays in the cache of one core."""
POINTS_AT_ONCE = 512
"""When predicting."""

aten = torch.ops.aten


class Dense(NamedTuple):
    """One layer's matrix in a state: a row per output; behind the inputs' columns the bias."""

    inputs: int
    outputs: int
    rows: int
    columns: int
    offset: int

    @property
    def scale(self) -> float:
        """The factor of all weights."""
        return (self.inputs + 1) ** -0.5

    @property
    def stop(self) -> int:
        """The offset behind the matrix."""
        return self.offset + self.rows * self.columns

    def of(
        self, states: Float[Tensor, "members size"]
    ) -> Float[Tensor, "members {self.rows} {self.columns}"]:
        """Return the matrices of all members, padding included."""
        flat = states[:, self.offset : self.stop]
        return flat.unflatten(1, (self.rows, self.columns))

    def places(self) -> list[Tensor]:
        """Return where a state has the weights, and where the biases."""
        rows = self.offset + self.columns * torch.arange(self.outputs)[:, None]
        return [(rows + torch.arange(self.inputs)).flatten(), rows[:, 0] + self.inputs]


class Activation(NamedTuple):
    """An activation that keeps 0, where padding lies, at 0."""

    forward: Callable[..., object]
    """Of pre-activations, into `out`."""
    backward: Callable[[Tensor, Tensor], object]
    """Turns gradients of activations (the second) into those of pre-activations, in place."""


def activation_of(layer: Layer | None) -> Activation:
    """Return how a perceptron's activation and its derivative are computed."""
    match layer:
        case Tanh():
            return Activation(
                torch.tanh, lambda g, z: aten.tanh_backward.grad_input(g, z, grad_input=g)
            )
        case LeakyReLU(slope) if slope >= 0:  # then activations have the signs of their arguments
            return Activation(
                lambda a, out: aten.leaky_relu.out(a, slope, out=out),
                lambda g, z: aten.leaky_relu_backward.grad_input(g, z, slope, True, grad_input=g),
            )
        case ReLU() | None:
            return Activation(
                lambda a, out: torch.clamp_min(a, 0, out=out),
                lambda g, z: aten.threshold_backward.grad_input(g, z, 0, grad_input=g),
            )
        case _:
            raise Unsupported(f"needed an activation of slope >= 0; got {layer}")


class ScaledPerceptron:
    """Dense layers with ReLU, tanh or leaky ReLU between them.

    Raises `Unsupported` for another architecture.
    """

    def __init__(self, problem: Problem) -> None:
        perceptron = as_perceptron(problem.architecture, problem.input_shape, ReLU, Tanh, LeakyReLU)
        self.activation = activation_of(perceptron.activation)
        self.layers = _placed(perceptron.widths)
        like = problem.train.inputs
        self.groups = [own.to(like.device) for layer in self.layers for own in layer.places()]
        self._places = torch.cat(self.groups)
        self._scale = torch.cat(
            [
                like.new_full((layer.outputs * (layer.inputs + 1),), layer.scale)
                for layer in self.layers
            ]
        )
        size = padded(self.layers[-1].stop, STATE_MULTIPLE)
        self.free = torch.zeros(size, dtype=torch.bool, device=like.device)
        self.free[self._places] = True

    def weights(self, states: Float[Tensor, "draws size"]) -> Float[Tensor, "draws parameters"]:
        """Return the states as flat weights of a `TorchNetwork`."""
        return states[:, self._places] * self._scale

    def outputs(
        self, states: Float[Tensor, "draws size"], inputs: Float[Tensor, "points *features"]
    ) -> Float[Tensor, "draws points outputs"]:
        """Return the network's outputs for every state, some of both at a time."""
        result = states.new_empty(len(states), len(inputs), self.layers[-1].outputs)
        at_once = self.members_at_once(min(len(inputs), POINTS_AT_ONCE))
        for points in _slices(len(inputs), POINTS_AT_ONCE):
            x = self.columns(inputs[None, points].to(states))
            for draws in _slices(len(states), at_once):
                forward = Forward(self, states[draws], x, len(inputs[points]))
                result[draws, points] = forward.run().mT
        return result

    def columns(
        self, inputs: Float[Tensor, "members points *features"]
    ) -> Float[Tensor, "members rows columns"]:
        """Return the points as columns with a 1 below the features; padding is 0 throughout."""
        members, points = inputs.shape[:2]
        columns = inputs.new_zeros(members, self.layers[0].columns, padded(points, ALIGNMENT))
        features = self.layers[0].inputs
        columns[:, :features, :points] = inputs.flatten(2).mT
        columns[:, features, :points] = 1
        return columns

    def members_at_once(self, points: int) -> int:
        """Return of how many members the activations stay in cache."""
        values = 2 * padded(points, ALIGNMENT) * sum(layer.rows for layer in self.layers)
        return max(1, BYTES_AT_ONCE // (values * self._scale.element_size()))

    def loss(
        self,
        inputs: Float[Tensor, "members points *features"],
        targets: Shaped[Tensor, "members points *target"],
        likelihood: Likelihood,
    ) -> "PerceptronLoss":
        """Return the loss of members that have these data."""
        return PerceptronLoss(self, inputs, targets, likelihood)


class Forward:
    """The way from points to outputs, in memory of its own."""

    def __init__(
        self,
        network: ScaledPerceptron,
        states: Float[Tensor, "members size"],
        x: Float[Tensor, "#members rows columns"],
        points: int,
    ) -> None:
        self.layers, self.activation = network.layers, network.activation
        members, columns = len(states), x.shape[2]
        self.points = points
        self.matrices = [layer.of(states) for layer in self.layers]
        self.before = [states.new_empty(members, layer.rows, columns) for layer in self.layers]
        """Pre-activations, the last being the outputs; later the gradients of both."""
        hidden = [torch.zeros_like(before) for before in self.before[:-1]]
        for layer, after in zip(self.layers, hidden, strict=False):
            after[:, layer.outputs, :points] = 1
        self.inputs = [x.expand(members, -1, -1), *hidden]
        """What each layer multiplies."""
        units = [slice(0, layer.outputs) for layer in self.layers]
        self._before = [values[:, own] for values, own in zip(self.before, units, strict=True)]
        self._after = [values[:, own] for values, own in zip(hidden, units, strict=False)]

    def run(self) -> Float[Tensor, "members outputs points"]:
        """Return the outputs at the states as they are now."""
        self._layer(0)
        for number, after in enumerate(self._after):
            self.activation.forward(self._before[number], out=after)
            self._layer(number + 1)
        return self._before[-1][..., : self.points]

    def _layer(self, number: int) -> None:
        matrix, x = self.matrices[number], self.inputs[number]
        self.before[number].baddbmm_(matrix, x, beta=0, alpha=self.layers[number].scale)


class PerceptronLoss:
    """The loss of a perceptron."""

    def __init__(
        self,
        network: ScaledPerceptron,
        inputs: Float[Tensor, "members points *features"],
        targets: Shaped[Tensor, "members points *target"],
        likelihood: Likelihood,
    ) -> None:
        self.states = inputs.new_zeros(len(inputs), len(network.free))
        self.gradients = torch.zeros_like(self.states)
        self._forward = Forward(network, self.states, network.columns(inputs), inputs.shape[1])
        self._products = [torch.zeros_like(matrix) for matrix in self._forward.matrices]
        self._of_gradients = [layer.of(self.gradients) for layer in network.layers]
        self._categorical = isinstance(likelihood, Categorical)
        if isinstance(likelihood, Categorical):
            targets = F.one_hot(targets.long(), likelihood.classes).to(inputs)
        self._targets = targets.mT.contiguous()

    def differentiate(self) -> None:
        """Write the gradients of the losses at the states."""
        found = self._found = self._forward.run()
        if self._categorical:
            self._log_probs = found.log_softmax(1)
            torch.exp(self._log_probs, out=found)
        found.sub_(self._targets)
        self._backward()

    def value(self) -> Float[Tensor, " members"]:
        """Return the losses, in float64, where they were differentiated last."""
        if self._categorical:
            return -(self._log_probs * self._targets).double().flatten(1).sum(1)
        return self._found.double().square().flatten(1).sum(1) / 2

    def outputs(self, points: int) -> Float[Tensor, "members probes outputs"]:
        """Return the means or log probabilities of the first points, there too."""
        if self._categorical:
            return self._log_probs[..., :points].mT
        return (self._found + self._targets)[..., :points].mT

    def _backward(self) -> None:
        forward = self._forward
        for number in reversed(range(len(forward.layers))):
            upstream, scale = forward.before[number], forward.layers[number].scale
            product = self._products[number]
            product.baddbmm_(upstream, forward.inputs[number].mT, beta=0, alpha=scale)
            self._of_gradients[number].copy_(product)
            if number:
                below = forward.before[number - 1]
                below.baddbmm_(forward.matrices[number].mT, upstream, beta=0, alpha=scale)
                forward.activation.backward(below, forward.inputs[number])


def _placed(widths: tuple[int, ...]) -> list[Dense]:
    layers: list[Dense] = []
    for number, (inputs, outputs) in enumerate(pairwise(widths), start=2):
        room = number < len(widths)  # for the row of ones that the next layer's bias multiplies
        rows, columns = padded(outputs + room, ALIGNMENT), padded(inputs + 1, ALIGNMENT)
        layers.append(Dense(inputs, outputs, rows, columns, layers[-1].stop if layers else 0))
    return layers


def _slices(count: int, at_once: int) -> list[slice]:
    return [slice(start, start + at_once) for start in range(0, count, at_once)]
