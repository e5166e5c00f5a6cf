"""The work in Python of the kernels of weights (weights.py), which is the same on a device."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels.layouts import contiguous, laid_as
from bnnbench.methods.message_passing.kernels.unit_operations import Argument


class WeightOperations(ABC):
    """Every function of `weights`, of compiled code that `call` finds by its name."""

    @abstractmethod
    def call(self, name: str, dtype: torch.dtype, *arguments: Argument) -> int:
        """Run compiled code for messages of a type; return its status, 0 if all went well."""

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
        kept: Gaussian | None,
        damping: float,
    ) -> None:
        """Let a group's message move `damping` of the way from the old to the new one, in place."""
        filled = (*_parts(kept), *_parts(total), marginal.tau, marginal.rho)
        given = laid_as(marginal.rho, (new.tau, new.rho, *_parts(old)), filled)
        count, dtype = marginal.rho.numel(), marginal.rho.dtype
        self.call("exchange_all", dtype, count, float(damping), *given, *filled)

    def dense_sums(self, weight: Gaussian, moments: Tensor, variance: Tensor | None) -> Tensor:
        """Return Σ a w of every output, its variance due to weights, and that due to inputs."""
        sizes, (moments,) = _sizes(weight, moments)
        given = laid_as(weight.rho, (weight.tau, weight.rho), (variance,))
        members, rows, _, outputs = sizes
        sums = moments.new_empty(3 * members, rows, outputs)
        self.call("dense_sums_all", sums.dtype, sizes, *given, moments, variance, sums)
        return sums

    def dense_messages(
        self,
        marginal: Gaussian,
        total: Gaussian | None,
        moments: Tensor,
        h: Tensor,
        g: Tensor,
        old: Gaussian | None,
        kept: Gaussian | None,
        damping: float,
    ) -> Tensor:
        """Exchange the messages of rows to weights, to zeroth order; return sums for inputs."""
        sizes, rows = _sizes(marginal, moments, h, g)
        filled = (*_parts(kept), *_parts(total), marginal.tau, marginal.rho)
        given = laid_as(marginal.rho, _parts(old), filled)
        sums = torch.empty_like(rows[0])
        arguments = (sizes, float(damping), *rows, *given, *filled, sums)
        if self.call("dense_messages_all", sums.dtype, *arguments):
            raise MemoryError("no memory for the moments of a group's inputs")
        return sums


def _parts(message: Gaussian | None) -> tuple[Tensor | None, Tensor | None]:
    return (message.tau, message.rho) if message else (None, None)


def _sizes(
    weight: Gaussian, moments: Tensor, *units: Tensor
) -> tuple[tuple[int, int, int, int], list[Tensor]]:
    """Return members, rows, inputs and outputs, and what has rows, checked."""
    members, outputs, inputs = weight.shape
    rows = moments.shape[1]
    found = contiguous(weight.rho, (3 * members, rows, inputs), moments)
    found += contiguous(weight.rho, (members, rows, outputs), *units)
    if not weight.rho.is_contiguous():
        raise ValueError(f"needed weights by rows; got strides {weight.rho.stride()}")
    return (members, rows, inputs, outputs), found
