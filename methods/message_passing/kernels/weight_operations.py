"""The Python part of the kernels on weights (weights.py), the same on every device."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels.layouts import contiguous, laid_as
from bnnbench.methods.message_passing.kernels.unit_operations import Argument
from bnnbench.methods.message_passing.stacks import InputMoments, InputSums, LaterSums


class WeightOperations(ABC):
    """Every function of `weights`, in compiled code that `call` finds by name."""

    @abstractmethod
    def call(self, name: str, dtype: torch.dtype, *arguments: Argument) -> int:
        """Run compiled code for messages of a type and return its status; 0 is success."""

    def fill_weight_moments(
        self, weight: Gaussian, mean: Tensor, variance: Tensor, second: Tensor
    ) -> None:
        """Fill mean, variance and second moment of marginals."""
        given = laid_as(mean, (weight.tau, weight.rho), (variance, second))
        self.call(
            "fill_weight_moments_all", mean.dtype, mean.numel(), *given, mean, variance, second
        )

    def exchange(
        self,
        marginal: Gaussian,
        total: Gaussian | None,
        new: Gaussian,
        old: Gaussian | None,
        stored: Gaussian | None,
        damping: float,
    ) -> None:
        """Move a group's message `damping` of the way from the old to the new one, in place."""
        filled = (*_parts(stored), *_parts(total), marginal.tau, marginal.rho)
        given = laid_as(marginal.rho, (new.tau, new.rho, *_parts(old)), filled)
        count, dtype = marginal.rho.numel(), marginal.rho.dtype
        self.call("exchange_all", dtype, count, float(damping), *given, *filled)

    def dense_sums(
        self, weight: Gaussian, inputs: InputMoments, variance: Tensor | None
    ) -> LaterSums:
        """Return the moments of Σ a w for every output; fill `variance` with the weights'."""
        sizes, (moments,) = _sizes(weight, inputs)
        given = laid_as(weight.rho, (weight.tau, weight.rho), (variance,))
        members, rows, _, outputs = sizes
        sums = moments.new_empty(3 * members, rows, outputs)
        self.call("dense_sums_all", sums.dtype, sizes, *given, moments, variance, sums)
        return LaterSums.of(sums)

    def dense_messages(
        self,
        marginal: Gaussian,
        total: Gaussian | None,
        inputs: InputMoments,
        h: Tensor,
        g: Tensor,
        old: Gaussian | None,
        stored: Gaussian | None,
        damping: float,
    ) -> InputSums:
        """Exchange the messages of rows to weights, to zeroth order; return sums for inputs."""
        sizes, rows = _sizes(marginal, inputs, h, g)
        filled = (*_parts(stored), *_parts(total), marginal.tau, marginal.rho)
        given = laid_as(marginal.rho, _parts(old), filled)
        sums = torch.empty_like(rows[0])
        arguments = (sizes, float(damping), *rows, *given, *filled, sums)
        if self.call("dense_messages_all", sums.dtype, *arguments):
            raise MemoryError("no memory for the moments of a group's inputs")
        return InputSums.of(sums)


def _parts(message: Gaussian | None) -> tuple[Tensor | None, Tensor | None]:
    return (message.tau, message.rho) if message else (None, None)


def _sizes(
    weight: Gaussian, moments: InputMoments, *units: Tensor
) -> tuple[tuple[int, int, int, int], list[Tensor]]:
    """Return numbers of members, rows, inputs and outputs, and the checked tensors with rows."""
    members, outputs, inputs = weight.shape
    rows = moments.stacked.shape[1]
    tensors = contiguous(weight.rho, (3 * members, rows, inputs), moments.stacked)
    tensors += contiguous(weight.rho, (members, rows, outputs), *units)
    if not weight.rho.is_contiguous():
        raise ValueError(f"needed contiguous weights; got strides {weight.rho.stride()}")
    return (members, rows, inputs, outputs), tensors
