"""The storage of aggregates between visits, counts of events, and operations on all layers."""

# pyright: reportPrivateImportUsage=false
# Torch exports its multi-tensor functions only under private names.

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.layers.base import Visit
from bnnbench.methods.message_passing.layers.weighted import Weights

LEAST_SHARE = 1e-6
"""A cavity retains at least this share of the prior's precision."""


@dataclass(frozen=True)
class Storage:
    """The type and device of aggregates between visits."""

    dtype: torch.dtype | None = None
    """None: the type of the marginals."""
    device: str | None = None
    """None: the device of the marginals."""

    def put(self, weights: Weights) -> Weights:
        """Return the weights in the type and on the device of the storage."""
        return converted(weights, self.dtype, self.device)


AS_MARGINALS = Storage()


@dataclass
class Tally:
    """Counts of events in the fit of each member, for its diagnostics."""

    guard_events: Tensor
    """Visits that were discarded and repeated with a calmer schedule."""
    clamped: Tensor
    """Cavity precisions below the floor."""
    replaced: Tensor
    """Forward messages of activations that a guard replaced."""
    floored: Tensor
    """Backward messages of activations that a guard replaced or floored."""
    forwards: Tensor
    """Forward messages of activations."""
    serial_steps: Tensor
    """Groups visited one after another; all examples of a group send their messages at once."""

    @classmethod
    def of(cls, count: int, device: torch.device) -> "Tally":
        """Return a tally of zeros."""
        return cls(*(torch.zeros(count, dtype=torch.int64, device=device) for _ in range(6)))

    def add(self, visit: Visit, index: Tensor) -> None:
        """Count the messages of some members in one iteration of a visit."""
        self.serial_steps[index] += visit.groups
        self.forwards[index] += visit.sent
        if visit.replaced is not None:
            self.replaced[index] += visit.replaced
        if visit.floored is not None:
            self.floored[index] += visit.floored


def numbers(layers: Sequence[Weights]) -> list[list[list[Tensor]]]:
    """Return the natural parameters of each layer's weights and of its biases, if any."""
    return [[[part.tau, part.rho] for part in layer.parts()] for layer in layers]


def from_numbers(parameters: list[list[list[Tensor]]]) -> list[Weights]:
    """Return the layers with these `numbers`: its inverse."""
    layers = [[Gaussian(*part) for part in parts] for parts in parameters]
    return [Weights(weight, bias[0] if bias else None) for weight, *bias in layers]


def numbers_of(weights: Sequence[Weights]) -> list[Tensor]:
    """Return the natural parameters of all layers as one list."""
    return [t for layer in weights for part in layer.parts() for t in (part.tau, part.rho)]


def arranged(pattern: Sequence[Weights], numbers: Sequence[Tensor]) -> list[Weights]:
    """Return a list of parameters as layers, with biases where the pattern has them."""
    given = iter(numbers)

    def part() -> Gaussian:
        return Gaussian(next(given), next(given))

    return [Weights(part(), part() if layer.bias else None) for layer in pattern]


def converted(
    weights: Weights, dtype: torch.dtype | None, device: str | None, copy: bool = False
) -> Weights:
    """Return weights of the given type on the given device; None leaves either unchanged."""
    return mapped(weights, lambda x: x.to(device or x.device, dtype or x.dtype, copy=copy))


def mapped(weights: Weights, function: Callable[[Tensor], Tensor]) -> Weights:
    """Return the weights with the function applied to all natural parameters."""
    parts = [Gaussian(function(part.tau), function(part.rho)) for part in weights.parts()]
    return Weights(parts[0], parts[1] if len(parts) == 2 else None)


def products(left: Sequence[Weights], right: Sequence[Weights]) -> list[Weights]:
    """Return the products of all layers' messages."""
    return arranged(left, torch._foreach_add(numbers_of(left), numbers_of(right)))


def quotients(left: Sequence[Weights], right: Sequence[Weights]) -> list[Weights]:
    """Return the quotients of all layers' messages."""
    return arranged(left, torch._foreach_sub(numbers_of(left), numbers_of(right)))


def damped(old: list[Weights] | None, new: list[Weights], step: float) -> list[Weights]:
    """Return messages moved `step` of the way from the old ones to the new, in new memory."""
    if old is None:
        return arranged(new, torch._foreach_mul(numbers_of(new), step))
    return arranged(new, torch._foreach_lerp(numbers_of(old), numbers_of(new), step))
