"""Linear and convolutional layers: what is the same for observed and for random inputs."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from methods.message_passing.coupling import Coupling, coupled_forces
from methods.message_passing.gaussian import LEAST_PRECISION, Gaussian
from methods.message_passing.joint import joint_precisions, shared_out, with_precision
from methods.message_passing.layers.base import Slots, Visit
from methods.message_passing.maps import LinearMap
from methods.message_passing.sums import Order

NO_VARIANCE = 1e-20


@dataclass(frozen=True)
class Weights:
    """Weights of a layer, `members outputs *fan_in`, and its biases, `members outputs`, if any."""

    weight: Gaussian
    bias: Gaussian | None

    def __mul__(self, other: "Weights") -> "Weights":
        return self._with(other, Gaussian.__mul__)

    def __truediv__(self, other: "Weights") -> "Weights":
        return self._with(other, Gaussian.__truediv__)

    def _with(self, other: "Weights", operation) -> "Weights":
        if self.bias is None or other.bias is None:
            return Weights(operation(self.weight, other.weight), None)
        return Weights(operation(self.weight, other.weight), operation(self.bias, other.bias))

    def moved(self, towards: "Weights", step: float) -> "Weights":
        """Return the message `step` of the way towards the other, in natural parameters."""
        bias = self.bias and towards.bias and self.bias.moved(towards.bias, step)
        return Weights(self.weight.moved(towards.weight, step), bias)

    def parts(self) -> tuple[Gaussian, ...]:
        """Return weights and biases, as far as there are any."""
        return (self.weight,) if self.bias is None else (self.weight, self.bias)

    def of_members(self, members: Tensor) -> "Weights":
        """Return those of some members."""
        return Weights(self.weight[members], None if self.bias is None else self.bias[members])

    def is_proper(self) -> Tensor:
        """Return which members' numbers are all finite, with positive precisions."""
        proper = [
            (part.tau.isfinite() & part.rho.isfinite() & (part.rho > 0)).flatten(1).all(1)
            for part in self.parts()
        ]
        return torch.stack(proper).all(0)


@dataclass
class Pull:
    """What messages from above do to the layer's pre-activations (sums.py)."""

    g: Tensor
    h: Tensor


@dataclass(frozen=True)
class Known:
    """Precisions of a group's messages to the weights and biases (joint.py)."""

    weight: Tensor
    bias: Tensor | None


class WeightedLayer(ABC):
    """The messages that a layer's weights and biases get from the examples of a visit.

    `marginal` contains every message exactly once at all times. Cavities of biases are those of
    examples, not of positions.
    """

    def __init__(self, map: LinearMap, order: Order, kernels: ModuleType) -> None:
        self.map, self.kernels = map, kernels
        self.order: Order = order
        self.prior: Weights
        self.marginal: Weights

    def start_from(self, prior: Weights) -> None:
        """Let weights have these marginals before the first message of a visit."""
        self.prior = self.marginal = prior

    def open(self, visit: Visit) -> None:
        """Begin a visit; `start_from` precedes it."""
        self.slots = Slots()
        self.sums: list[Gaussian | None] = [None] * visit.groups

    @abstractmethod
    def forward(self, message: Any, visit: Visit) -> Gaussian:
        """Return the messages to the pre-activations."""

    @abstractmethod
    def backward(self, message: Gaussian, visit: Visit) -> Gaussian | None:
        """Send messages to weights and biases, and return those to the inputs."""

    @abstractmethod
    def predict(self, message: Any) -> Gaussian:
        """Return the messages of new examples to the pre-activations."""

    def aggregate(self) -> Weights:
        """Return the product of all messages of the visit."""
        weight = _product([part for part in self.sums if part is not None])
        if self.prior.bias is None:
            return Weights(weight, None)
        tau, rho = (self.slots.values[name].sum(1) for name in ("bias tau", "bias rho"))
        return Weights(weight, Gaussian(tau, rho))

    def refresh(self) -> None:
        """Compute the marginal anew from prior and messages: increments drift in float32."""
        self.marginal = self.prior * self.aggregate()

    def _cavity_of_bias(self, visit: Visit) -> tuple[Tensor, Tensor] | None:
        """Return mean and variance of the biases without each example's own message."""
        bias = self.marginal.bias
        if bias is None:
            return None
        old = self.slots.message("bias", visit)
        cavity = Gaussian(bias.tau[:, None], bias.rho[:, None])
        cavity = cavity / old if old else cavity
        cavity = Gaussian(cavity.tau, cavity.rho.clamp_min(LEAST_PRECISION))
        return self.map.spread(cavity.mean), self.map.spread(cavity.variance)

    def _known(self, x: Tensor, observed: Tensor, visit: Visit) -> Known:
        """Return the precisions of the group's joint messages.

        `observed` has the precisions of the pre-activations, given the inputs.
        """
        rest = self.marginal
        old, old_bias = self.sums[visit.group], self.slots.message("bias", visit)
        weight = rest.weight / old if old else rest.weight
        variance = weight.rho.maximum(self.prior.weight.rho).reciprocal()
        bias = None
        if rest.bias and self.prior.bias:
            own = old_bias.rho.sum(1) if old_bias else 0.0
            bias = (rest.bias.rho - own).maximum(self.prior.bias.rho).reciprocal()
        return Known(*joint_precisions(self.map, x, observed, variance, bias))

    def _send_to_bias(
        self,
        cavity: tuple[Tensor, Tensor] | None,
        pull: Pull,
        visit: Visit,
        known: Known | None = None,
    ) -> None:
        """Replace the messages of the group's examples to the biases."""
        bias = self.marginal.bias
        if cavity is None or bias is None:
            return
        mean, variance = cavity
        alone = 1 - pull.g * variance
        new = Gaussian(
            self.map.per_example((pull.h + pull.g * mean) / alone),
            self.map.per_example(pull.g / alone),
        )
        if known and known.bias is not None:
            new = with_precision(new, bias.mean[:, None], shared_out(known.bias, new.rho))
        old = self.slots.message("bias", visit)
        if old:
            new = old.moved(new, visit.damping)
        change = new / old if old else new
        self.slots.put_message("bias", visit, new)  # `old` is a view of what this overwrites
        bias = bias * Gaussian(change.tau.sum(1), change.rho.sum(1))
        self.marginal = Weights(self.marginal.weight, bias)

    def _send_to_weights(self, new: Gaussian, visit: Visit) -> None:
        """Replace the product of the group's messages to the weights."""
        old = self.sums[visit.group]
        if old:
            new = old.moved(new, visit.damping)
        self.sums[visit.group] = new
        before = self.marginal.weight
        weight = self.kernels.swap(before, old, new) if old else before * new
        self.marginal = Weights(weight, self.marginal.bias)

    def _pull(self, back: Gaussian, mean: Tensor, variance: Tensor) -> Pull:
        """Return gain and force, each example for itself."""
        spread = 1 + back.rho * variance
        return Pull(back.rho / spread, (back.tau - back.rho * mean) / spread)

    def _couple(self, coupling: Coupling, pull: Pull, visit: Visit) -> Pull:
        """Return the forces of the coupled update, which start from those of the last iteration."""
        old = self.slots.get("h", visit)
        old = torch.zeros_like(pull.h) if old is None else old
        iterations = visit.schedule.solver_iterations
        return Pull(pull.g, coupled_forces(coupling, pull.g, pull.h, old, iterations))

    def _keep(self, name: str, new: Tensor, visit: Visit) -> None:
        """Keep gain or force of the messages that the marginals now contain."""
        old = self.slots.get(name, visit)
        value = new if old is None else torch.lerp(old, new, visit.damping)
        self.slots.put(name, visit, value)

    def _message(self, mean: Tensor, variance: Tensor) -> Gaussian:
        """Return the message to the pre-activations; of no variance at all, a narrow one."""
        return Gaussian.of(mean, variance.clamp_min(NO_VARIANCE))


def _product(parts: list[Gaussian]) -> Gaussian:
    product = parts[0]
    for part in parts[1:]:
        product = product * part
    return product
