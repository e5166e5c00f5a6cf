"""A perceptron with an explicit gradient: a few batched products into reused memory."""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Shaped
from torch import Tensor

from bnnbench.datasets.base import Categorical, Likelihood
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.hmc.scaled_networks import STATE_MULTIPLE, Loss, padded
from bnnbench.methods.hmc.stepped_loss import SteppedLoss
from bnnbench.methods.networks.architectures import Layer, LeakyReLU, ReLU, Tanh
from bnnbench.methods.networks.perceptron import Perceptron, as_perceptron

ALIGNMENT = 4
"""Rows and columns of all matrices are multiples of it: members start at 16-byte boundaries."""
BYTES_AT_ONCE = 2**20
"""Bytes of activations that fit into the cache of one core."""
POINTS_AT_ONCE = 512
"""Number of points in one pass when predicting."""

aten = torch.ops.aten


class Dense(NamedTuple):
    """One layer's matrix in a state: a row per output; the bias comes after the inputs' columns."""

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
        """The offset after the matrix."""
        return self.offset + self.rows * self.columns

    def of(
        self, states: Float[Tensor, "members size"]
    ) -> Float[Tensor, "members {self.rows} {self.columns}"]:
        """Return the matrices of all members, including padding."""
        flat = states[:, self.offset : self.stop]
        return flat.unflatten(1, (self.rows, self.columns))

    def places(self) -> list[Tensor]:
        """Return the positions of weights, and of biases, in a state."""
        rows = self.offset + self.columns * torch.arange(self.outputs)[:, None]
        return [(rows + torch.arange(self.inputs)).flatten(), rows[:, 0] + self.inputs]


class Activation(NamedTuple):
    """An activation that maps 0 to 0, so that padding stays 0."""

    forward: Callable[..., object]
    """Function of pre-activations that writes into `out`."""
    backward: Callable[[Tensor, Tensor], object]
    """Given gradients and activations, makes the former pre-activations' gradients, in place."""


def activation_of(layer: Layer | None) -> Activation:
    """Return the functions of a perceptron's activation and its derivative."""
    match layer:
        case Tanh():
            return Activation(
                torch.tanh, lambda g, z: aten.tanh_backward.grad_input(g, z, grad_input=g)
            )
        case LeakyReLU(slope) if slope >= 0:  # activations then have the signs of their arguments
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
    """Dense layers with ReLU, tanh or leaky ReLU between them."""

    def __init__(self, perceptron: Perceptron, reference: Tensor) -> None:
        """`reference` has the number type and the device of the inputs."""
        self.arguments = (perceptron, reference.new_empty(0))
        self.activation = activation_of(perceptron.activation)
        self.layers = _placed(perceptron.widths)
        self.groups = [
            positions.to(reference.device) for layer in self.layers for positions in layer.places()
        ]
        self._places = torch.cat(self.groups)
        self._scale = torch.cat(
            [
                reference.new_full((layer.outputs * (layer.inputs + 1),), layer.scale)
                for layer in self.layers
            ]
        )
        size = padded(self.layers[-1].stop, STATE_MULTIPLE)
        self.free = torch.zeros(size, dtype=torch.bool, device=reference.device)
        self.free[self._places] = True

    def __reduce__(self) -> tuple[type["ScaledPerceptron"], tuple[Perceptron, Tensor]]:
        """Return the constructor and its arguments, by which a copy is made anew."""
        return type(self), self.arguments

    @classmethod
    def of(cls, problem: Problem) -> "ScaledPerceptron":
        """Return a problem's network; raises `Unsupported` for another architecture."""
        shape = problem.architecture, problem.input_shape
        return cls(as_perceptron(*shape, ReLU, Tanh, LeakyReLU), problem.train.inputs)

    def weights(self, states: Float[Tensor, "draws size"]) -> Float[Tensor, "draws parameters"]:
        """Return the states as flat weights of a `TorchNetwork`."""
        return states[:, self._places] * self._scale

    def outputs(
        self, states: Float[Tensor, "draws size"], inputs: Float[Tensor, "points *features"]
    ) -> Float[Tensor, "draws points outputs"]:
        """Return the network's outputs for every state, in blocks of states and points."""
        result = states.new_empty(len(states), len(inputs), self.layers[-1].outputs)
        at_once = self._members_in_cache(min(len(inputs), POINTS_AT_ONCE))
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
        """Return the number of members for which a loss is fastest."""
        return self._members_in_cache(points)

    def _members_in_cache(self, points: int) -> int:
        """Return the number of members whose activations fit into the cache."""
        values = 2 * padded(max(points, 1), ALIGNMENT) * sum(layer.rows for layer in self.layers)
        return max(1, BYTES_AT_ONCE // (values * self._scale.element_size()))

    def loss(
        self,
        inputs: Float[Tensor, "members points *features"],
        targets: Shaped[Tensor, "members points *target"],
        likelihood: Likelihood,
    ) -> Loss:
        """Return the loss of members with these data."""
        return PerceptronLoss(self, inputs, targets, likelihood)


class Forward:
    """The forward pass from points to outputs, in separate memory."""

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
        """Pre-activations, of which the last are the outputs; later their gradients."""
        hidden = [torch.zeros_like(before) for before in self.before[:-1]]
        for layer, after in zip(self.layers, hidden, strict=False):
            after[:, layer.outputs, :points] = 1
        self.inputs = [x.expand(members, -1, -1), *hidden]
        """Inputs of each layer's product."""
        units = [slice(0, layer.outputs) for layer in self.layers]
        self._before = [values[:, rows] for values, rows in zip(self.before, units, strict=True)]
        self._after = [values[:, rows] for values, rows in zip(hidden, units, strict=False)]

    def run(self) -> Float[Tensor, "members outputs points"]:
        """Return the outputs at the current states."""
        self._layer(0)
        for number, after in enumerate(self._after):
            self.activation.forward(self._before[number], out=after)
            self._layer(number + 1)
        return self._before[-1][..., : self.points]

    def _layer(self, number: int) -> None:
        matrix, x = self.matrices[number], self.inputs[number]
        self.before[number].baddbmm_(matrix, x, beta=0, alpha=self.layers[number].scale)


class PerceptronLoss(SteppedLoss):
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
        residuals = self._residuals = self._forward.run()
        if self._categorical:
            self._log_probs = residuals.log_softmax(1)
            torch.exp(self._log_probs, out=residuals)
        residuals.sub_(self._targets)
        self._backward()

    def value(self) -> Float[Tensor, " members"]:
        """Return the losses, in float64, at the states that were differentiated last."""
        if self._categorical:
            return -(self._log_probs * self._targets).double().flatten(1).sum(1)
        return self._residuals.double().square().flatten(1).sum(1) / 2

    def outputs(self, points: int) -> Float[Tensor, "members probes outputs"]:
        """Return the means or log probabilities of the first points, at the same states."""
        if self._categorical:
            return self._log_probs[..., :points].mT
        return (self._residuals + self._targets)[..., :points].mT

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
