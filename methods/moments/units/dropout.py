r"""Moments after inverted dropout, x b / q with b = 1 with probability q = 1 - p."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bnnbench.methods.moments.base import Moments


def dropout(x: Moments, rate: float) -> Moments:
    r"""Return the mean unchanged and the variance $(v + p m^2) / q$.

    Differentiable once. Source: paper 001, section 3.
    """
    if not rate:
        return x
    return Moments(x.mean, _Variance.apply(x.mean, x.variance, rate))  # pyright: ignore[reportArgumentType]


class _Variance(torch.autograd.Function):
    """The variance in two passes over memory, and its gradients in three."""

    @staticmethod
    def forward(ctx: Any, mean: Tensor, variance: Tensor | None, rate: float) -> Tensor:
        ctx.save_for_backward(mean)
        ctx.rate, ctx.known = rate, variance is None
        if variance is None:
            return mean.square().mul_(rate / (1 - rate))
        return torch.addcmul(variance, mean, mean, value=rate).mul_(1 / (1 - rate))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (mean,) = ctx.saved_tensors
        to_mean = (mean * gradient).mul_(2 * ctx.rate / (1 - ctx.rate))
        return to_mean, None if ctx.known else gradient / (1 - ctx.rate), None
