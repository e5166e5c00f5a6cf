"""Optimisers of stacked tensors whose members may have different settings.

A member's numbers do not depend on the others: a stack of one gives the same, bit for bit.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.checkpoints.parts import Attributes, Part

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Settings of Adam, for all methods."""


def column(values: Sequence[float], pattern: Tensor) -> Float[Tensor, "members 1"]:
    """Return the members' numbers as a column of a tensor's type."""
    return torch.tensor(values, dtype=pattern.dtype, device=pattern.device).unsqueeze(1)


@runtime_checkable
class Moves(Protocol):
    """An optimiser that moves stacked tensors, with a learning rate for each member."""

    @property
    def changing(self) -> list[Part]:
        """The parts that a step changes, for checkpoints."""
        ...

    def begin_epoch(self, factors: Sequence[float]) -> None:
        """Set the first members' learning rates to their peaks times these factors."""
        ...


class StackedOptimiser(ABC):
    """Moves stacked tensors in place, with a learning rate for each member.

    Gradients may be given for only the first members when the others are done.
    """

    def __init__(
        self, tensors: Sequence[Float[Tensor, "members numbers"]], rates: Sequence[float]
    ) -> None:
        self.tensors = [tensor.detach() for tensor in tensors]
        self._peaks = list(rates)
        self.rates = column(rates, tensors[0])
        """Learning rates of the first members in this epoch."""
        self.steps = 0

    @property
    def changing(self) -> list[Part]:
        """The parts that a step changes, for checkpoints."""
        return [*self.tensors, *self._state(), Attributes(self, "steps")]

    def begin_epoch(self, factors: Sequence[float]) -> None:
        """Set the first members' learning rates to their peaks times these factors."""
        rates = [f * peak for f, peak in zip(factors, self._peaks, strict=False)]
        self.rates = column(rates, self.tensors[0])

    @torch.no_grad()
    def step(self, *gradients: Float[Tensor, "members numbers"]) -> None:
        """Move the first members of each tensor, given their gradient."""
        self.steps += 1
        for number, gradient in enumerate(gradients):
            self._move(number, gradient)

    @abstractmethod
    def _state(self) -> list[Tensor]:
        """Return the tensors that a step changes, other than those that are moved."""
        ...

    @abstractmethod
    def _move(self, number: int, gradient: Tensor) -> None:
        """Move the first members of tensor `number`."""
        ...


class Adam(StackedOptimiser):
    """Adam; with decays AdamW: in every step, weights shrink by the rate times the decay.

    Sources: Kingma and Ba (2015), "Adam: A Method for Stochastic Optimization"; Loshchilov and
    Hutter (2019), "Decoupled Weight Decay Regularization".
    """

    def __init__(
        self,
        tensors: Sequence[Float[Tensor, "members numbers"]],
        rates: Sequence[float],
        decays: Sequence[float] | None = None,
    ) -> None:
        super().__init__(tensors, rates)
        self._means = [torch.zeros_like(tensor) for tensor in self.tensors]
        self._squares = [torch.zeros_like(tensor) for tensor in self.tensors]
        self._decays = None if decays is None else column(decays, tensors[0])

    def _state(self) -> list[Tensor]:
        return [*self._means, *self._squares]

    def _move(self, number: int, gradient: Tensor) -> None:
        members = len(gradient)
        tensor, rates = self.tensors[number][:members], self.rates
        mean, square = self._means[number][:members], self._squares[number][:members]
        if self._decays is not None:
            tensor.mul_(1 - rates * self._decays[:members])
        mean.lerp_(gradient, 1 - BETA1)
        square.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        root = square.sqrt().div_(math.sqrt(1 - BETA2**self.steps)).add_(EPSILON)
        scales = rates / (1 - BETA1**self.steps)
        tensor.sub_(torch.div(mean, root, out=root).mul_(scales))


class Sgd(StackedOptimiser):
    """Stochastic gradient descent with momentum; decays are added to the gradient."""

    def __init__(
        self,
        tensors: Sequence[Float[Tensor, "members numbers"]],
        rates: Sequence[float],
        decays: Sequence[float],
        momentum: float,
    ) -> None:
        super().__init__(tensors, rates)
        self._decays, self._momentum = column(decays, tensors[0]), momentum
        self._velocities = [torch.zeros_like(tensor) for tensor in self.tensors]

    def _state(self) -> list[Tensor]:
        return self._velocities

    def _move(self, number: int, gradient: Tensor) -> None:
        members = len(gradient)
        tensor = self.tensors[number][:members]
        velocity = self._velocities[number][:members]
        velocity.mul_(self._momentum).add_(gradient.addcmul(tensor, self._decays[:members]))
        tensor.addcmul_(velocity, self.rates, value=-1)
