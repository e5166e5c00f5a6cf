"""The common part of linear and convolutional layers with observed or random inputs."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from bnnbench.methods.message_passing.coupled.coupling import Coupling, couple, couple_fused
from bnnbench.methods.message_passing.coupled.joint import (
    JointPrecisions,
    joint_precisions,
    shared_out,
    with_precision,
)
from bnnbench.methods.message_passing.gaussian import LEAST_PRECISION, Gaussian, Moments
from bnnbench.methods.message_passing.layers.base import Slots, Visit
from bnnbench.methods.message_passing.maps.base import LinearMap
from bnnbench.methods.message_passing.maps.sums import Order
from bnnbench.methods.message_passing.stacks import WeightMoments


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
        """Return the weights, and the biases if there are any."""
        return (self.weight,) if self.bias is None else (self.weight, self.bias)

    def of_members(self, members: Tensor) -> "Weights":
        """Return the weights of some members, in ascending order; for all members, `self`."""
        if len(members) == len(self.weight.rho):
            return self
        return Weights(self.weight[members], None if self.bias is None else self.bias[members])

    def is_proper(self) -> Tensor:
        """Return which members' numbers are all finite, with positive precisions."""
        return torch.stack([part.is_proper() for part in self.parts()]).all(0)


class WeightedLayer(ABC):
    """The messages that a layer's weights and biases get from the examples of a visit.

    `marginal` contains every message exactly once at all times. Biases have one cavity per example,
    not per position.
    """

    def __init__(self, map: LinearMap, order: Order, kernels: ModuleType) -> None:
        self.map, self.kernels = map, kernels
        self.order: Order = order
        self.prior: Weights
        self.marginal: Weights
        self._bias_total: Gaussian | None = None
        """The product of the messages to biases, if fused kernels accumulate it."""
        self._total: Gaussian | None = None
        """The product of the stored messages; None in a first iteration (`aggregate`)."""

    def start_from(self, prior: Weights) -> None:
        """Set the weights' marginals before the first message of a visit."""
        self.prior = self.marginal = prior

    def open(self, visit: Visit) -> None:
        """Begin a visit; call `start_from` first."""
        self.slots = Slots()
        self.prior = Weights(self._laid(self.prior.weight), self.prior.bias)
        weight = self.prior.weight
        weight = Gaussian(*(t.clone() for t in (weight.tau, weight.rho)))
        self.marginal = Weights(weight, self.prior.bias)  # changed in place
        self._total = self._bias_total = None
        self.sums: list[Gaussian | None] = [None] * visit.groups
        self.bias_sums: list[Gaussian | None] = [None] * visit.groups

    @abstractmethod
    def forward(self, message: Any, visit: Visit) -> tuple[Gaussian, Any]:
        """Return the messages to the pre-activations."""

    @abstractmethod
    def backward(self, residue: Any, message: Gaussian, visit: Visit) -> Gaussian | None:
        """Send messages to weights and biases, and return the messages to the inputs."""

    @abstractmethod
    def predict(self, message: Any) -> Gaussian:
        """Return the messages of new examples to the pre-activations."""

    def aggregate(self) -> Weights:
        """Return the product of all messages of the visit.

        In a first iteration its rounding error is the marginal's, not the product's: half a unit in
        the marginal's last place per group. In float32 that is 0.3 % of a message that is one of
        50,000 equal ones. Later iterations, which replace the message, have smaller errors.
        """
        if self._total is None:
            return self.marginal / self.prior
        if self.prior.bias is None or self.kernels.FUSED:
            return Weights(self._total, self._bias_total)
        return Weights(self._total, _product(self.bias_sums))

    def refresh(self) -> Weights:
        """Return `aggregate`, and compute the marginal from it, free of earlier rounding."""
        aggregate = self.aggregate()
        if self._total is not None:
            self.marginal = self.prior * aggregate
        return aggregate

    def _weight_moments(self) -> WeightMoments:
        """Return the moments of the weights' marginals."""
        weight = self.marginal.weight
        moments = WeightMoments.of(self.map.weights_room(weight.rho, 3))
        self.kernels.fill_weight_moments(weight, moments.mean, moments.variance, moments.second)
        return moments

    def _with_bias(
        self, mean: Tensor, by_weights: Tensor, by_inputs: Tensor | None, visit: Visit | None
    ) -> tuple[Gaussian, Moments | None]:
        """Return the messages to the pre-activations and, in a visit, the cavities of biases.

        Fused kernels compute the cavities themselves.
        """
        variances, marginal = (by_weights, by_inputs), self.marginal.bias
        if self.kernels.FUSED:
            old = self.slots.message("bias", visit) if marginal and visit else None
            return self.kernels.biased_outputs(mean, *variances, marginal, old), None
        bias = self._cavity_of_bias(visit) if visit else self._bias_moments()
        return self.kernels.output_messages(mean, *variances, bias.mean, bias.variance), bias

    def _cavity_of_bias(self, visit: Visit) -> Moments:
        """Return the moments of the biases without each example's own message."""
        bias = self.marginal.bias
        old = bias and self.slots.message("bias", visit)
        if not bias or not old:
            return self._bias_moments()
        cavity = Gaussian(bias.tau[:, None], bias.rho[:, None]) / old
        rho = cavity.rho.clamp_min(LEAST_PRECISION)
        return Moments(cavity.tau / rho, rho.reciprocal())

    def _bias_moments(self) -> Moments:
        """Return the moments of the biases, the same for all examples; 0 if there are none."""
        bias, weight = self.marginal.bias, self.marginal.weight
        if bias is None:
            none = weight.rho.new_zeros(*weight.shape[:1], 1, weight.shape[1])
            return Moments(none, none)
        return Moments(bias.mean[:, None], bias.variance[:, None])

    def _joint_precisions(self, x: Tensor, observed: Tensor, visit: Visit) -> JointPrecisions:
        """Return the precisions of the group's joint messages.

        `observed` has the precisions of the pre-activations, given the inputs.
        """
        rest = self.marginal
        old, old_bias = self.sums[visit.group], self.bias_sums[visit.group]
        weight = rest.weight / old if old else rest.weight
        variance = weight.rho.maximum(self.prior.weight.rho).reciprocal()
        bias = None
        if rest.bias and self.prior.bias:
            of_group = old_bias.rho if old_bias else 0.0
            bias = (rest.bias.rho - of_group).maximum(self.prior.bias.rho).reciprocal()
        return joint_precisions(self.map, x, observed, variance, bias)

    def _send_to_bias(
        self,
        cavity: Moments | None,
        g: Tensor,
        h: Tensor,
        visit: Visit,
        joint: JointPrecisions | None,
    ) -> None:
        """Replace the messages of the group's examples to the biases."""
        bias = self.marginal.bias
        if bias is None:
            return
        if cavity is None:
            self._exchange_bias(bias, g, h, visit)
            return
        new = self.kernels.bias_messages(g, h, cavity.mean, cavity.variance)
        if joint and joint.bias is not None:
            new = with_precision(new, bias.mean[:, None], shared_out(joint.bias, new.rho))
        old = self.slots.message("bias", visit)
        if old:
            new = old.moved(new, visit.damping)
        self.slots.put_message("bias", visit, new)
        old, new = self.bias_sums[visit.group], Gaussian(new.tau.sum(1), new.rho.sum(1))
        self.bias_sums[visit.group] = new
        self.marginal = Weights(self.marginal.weight, bias * (new / old if old else new))

    def _exchange_bias(self, bias: Gaussian, g: Tensor, h: Tensor, visit: Visit) -> None:
        """Do the same in fused kernels, which compute the cavities themselves."""
        if visit.group == 0 and not visit.is_first:
            self._bias_total = Gaussian(*bias.rho.new_zeros(2, *bias.shape))
        old, old_sum = self.slots.message("bias", visit), self.bias_sums[visit.group]
        books = bias, old, old_sum, self._bias_total
        new, product, marginal = self.kernels.exchange_bias(g, h, *books, visit.damping)
        self.slots.put_message("bias", visit, new)
        self.bias_sums[visit.group] = product
        self.marginal = Weights(self.marginal.weight, marginal)

    def _send_to_weights(self, new: Gaussian, visit: Visit) -> None:
        """Replace the product of the group's messages to the weights."""
        old, room = self._old_and_room(visit)
        marginal, total = self.marginal.weight, self._total
        self.kernels.exchange(marginal, total, new, old, room, visit.damping)

    def _laid(self, weight: Gaussian) -> Gaussian:
        """Return the same weights in the memory layout that products need."""
        room = [self.map.weights_room(t, 1) for t in (weight.tau, weight.rho)]
        pairs = zip((weight.tau, weight.rho), room, strict=True)
        return Gaussian(*(t if t.stride() == r.stride() else r.copy_(t) for t, r in pairs))

    def _old_and_room(self, visit: Visit) -> tuple[Gaussian | None, Gaussian | None]:
        """Return the product of the group's old messages, and a buffer for the new product.

        There is no old product in a first iteration, and no buffer in a last one; in between, the
        buffer is the old product's. The first group begins a new total. A first iteration needs no
        total, because it divides no message out: the marginal divided by the prior is the same.
        """
        weight = self.marginal.weight
        if visit.group == 0:
            room = self.map.weights_room(weight.rho, 2) if not visit.is_first else None
            self._total = None if room is None else Gaussian(*room.zero_().chunk(2))
        old, room = self.sums[visit.group], None
        if not visit.is_last:
            room = old or Gaussian(torch.empty_like(weight.tau), torch.empty_like(weight.rho))
        self.sums[visit.group] = room
        return old, room

    def _couple(
        self,
        x: Tensor,
        variance: Tensor,
        by_weights: Tensor,
        by_inputs: Tensor | None,
        g: Tensor,
        h: Tensor,
        visit: Visit,
    ) -> Tensor | None:
        """Couple the group's forces h, starting from the last iteration's forces (coupling.py).

        Fused kernels return the forces for `_store`, unless the iteration is the last.
        """
        old, iterations = self.slots.get("h", visit), visit.schedule.solver_iterations
        variances = by_weights, by_inputs
        if self.kernels.FUSED:
            precision = self.marginal.bias and self.marginal.bias.rho[:, None]
            coupling = Coupling(self.map, x, variance, None, *variances, precision)
            stored = None if visit.is_last else self.map.values_room(h, 1)
            couple_fused(coupling, g, h, old, stored, visit.damping, iterations, self.kernels)
            return stored
        bias = self._bias_moments().variance[:, 0]
        coupling = Coupling(self.map, x, variance, bias, *variances)
        couple(coupling, g, h, old, iterations, self.kernels)
        return None

    def _store(self, name: str, new: Tensor, visit: Visit, moved: Tensor | None = None) -> None:
        """Store gains or forces of the messages that the marginals now contain.

        `moved`, if given, is the value to store.
        """
        if visit.is_last:
            return
        if moved is not None:
            self.slots.put(name, visit, moved)
            return
        old = self.slots.get(name, visit)
        value = new.clone() if old is None else torch.lerp(old, new, visit.damping)
        self.slots.put(name, visit, value)


def _product(parts: Sequence[Gaussian | None]) -> Gaussian:
    """Return the product of the messages that are not None."""
    product, *others = (part for part in parts if part is not None)
    for part in others:
        product = product * part
    return product
