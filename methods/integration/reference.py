"""Antiderivatives of the density of a sum of uniforms in plain PyTorch: differentiable.

The same as `uniform_sums.py`, which works row by row, but with a fixed number of harmonics.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.integration.kernels.uniform_sums import (
    MOMENTS_UP_TO,
    MOST_PEELED,
    NEGLIGIBLE,
    PEELED,
)

HARMONICS = 128
FEW = 8
"""Maximum number of uniforms for which five levels of differences magnify rounding errors
little."""


class _Tail(NamedTuple):
    """Half the support and the central moments of the sum without its widest uniforms."""

    reach: Tensor
    moments: tuple[Tensor, Tensor, Tensor]
    """The second, fourth and sixth central moments."""

    def beyond(self, x: Tensor, order: int) -> Tensor:
        """Return E[(x - X)^(order - 1)] / (order - 1)!, the antiderivative beyond the support."""
        value = _power(x, order - 1)
        for power, moment in zip((2, 4, 6), self.moments, strict=True):
            if order - 1 >= power:
                value = value + _power(x, order - 1 - power) * moment / math.factorial(power)
        return value


def antiderivative(
    x: Float[Tensor, "*batch"], widths: Float[Tensor, "*batch uniforms"], order: int
) -> Float[Tensor, "*batch"]:
    """Return the antiderivative of this order at `x`; 0 is the density, 1 the cdf."""
    scale = widths.abs().amax(-1) if widths.shape[-1] else torch.zeros_like(x)
    scale = torch.where(scale > 0, scale, 1.0)
    relative = (widths.abs() / scale[..., None]).sort(-1, descending=True).values
    relative = torch.where(relative < NEGLIGIBLE, 0.0, relative)
    count = relative.shape[-1]
    most = min(MOST_PEELED, MOMENTS_UP_TO - order)
    levels = min(count, most) if count <= FEW else PEELED
    sums = _Sums(relative, order, levels)
    return scale ** (order - 1) * sums.peeled(x / scale, 0)


class _Sums:
    """The sums that remain as uniforms are peeled off, and the series of the last one."""

    def __init__(self, widths: Tensor, order: int, levels: int) -> None:
        self.widths, self.order, self.levels = widths, order, levels
        self.tails = list(_tails(widths, levels))
        self.has_series = levels < widths.shape[-1]
        if self.has_series:
            self._prepare_series()

    def peeled(self, x: Tensor, level: int) -> Tensor:
        """Return the antiderivative of order + level of the sum without its `level` widest."""
        tail, order = self.tails[level], self.order + level
        if level < self.levels:
            width = self.widths[..., level]
            above, below = (self.peeled(x + half, level + 1) for half in (width / 2, -width / 2))
            inside = (above - below) / torch.where(width > 0, width, 1.0)
        else:
            inside = self._series(x) if self.has_series else torch.zeros_like(x)
        beyond = tail.beyond(x, order) if order else torch.zeros_like(x)
        value = torch.where(x <= -tail.reach, 0.0, inside)
        return torch.where(x >= tail.reach, beyond, value)

    def _prepare_series(self) -> None:
        tail, order = self.tails[-1], self.order + self.levels
        self.half_period = torch.where(tail.reach > 0, tail.reach, 1.0)
        period = 2 * self.half_period
        self.constants = [1 / period]
        for j in range(1, order + 1):
            mean = tail.beyond(self.half_period, j + 1) / period
            for i in range(2, j + 1, 2):
                mean = mean - self.constants[j - i] * _power(self.half_period, i) / (i + 1)
            self.constants.append(mean)
        k = torch.arange(1, HARMONICS + 1, dtype=period.dtype, device=period.device)
        frequency = math.pi * k / self.half_period[..., None]
        characteristic = torch.ones_like(frequency)
        for width in self.widths[..., self.levels :].unbind(-1):
            characteristic = characteristic * _sinc(frequency * width[..., None] / 2)
        self.frequency = frequency
        self.coefficients = 2 / period[..., None] * characteristic * frequency**-order

    def _series(self, x: Tensor) -> Tensor:
        order = self.order + self.levels
        x = torch.minimum(torch.maximum(x, -self.half_period), self.half_period)
        angle = self.frequency * x[..., None]
        wave = angle.sin() if order % 2 else angle.cos()
        total = (self.coefficients * wave).sum(-1)
        value = -total if order % 4 in (2, 3) else total
        for i in range(order + 1):
            value = value + self.constants[order - i] * _power(x, i)
        return value


def _tails(widths: Tensor, levels: int) -> Iterator[_Tail]:
    """Yield the sums without the widest 0, 1, ... uniforms; cumulants t²/12, -t⁴/120, t⁶/252."""
    for level in range(levels + 1):
        rest = widths[..., level:]
        second, fourth = rest.square().sum(-1) / 12, -(rest**4).sum(-1) / 120
        sixth = (rest**6).sum(-1) / 252 + 15 * fourth * second + 15 * second**3
        yield _Tail(rest.sum(-1) / 2, (second, fourth + 3 * second.square(), sixth))


def _power(x: Tensor, exponent: int) -> Tensor:
    """Return x^n / n!."""
    return x**exponent / math.factorial(exponent) if exponent else torch.ones_like(x)


def _sinc(x: Tensor) -> Tensor:
    """Return sin(x) / x, with a correct gradient at and near 0."""
    near = x.abs() < 0.01
    square = torch.where(near, x, 0.0).square()
    series = 1 - square / 6 * (1 - square / 20 * (1 - square / 42))
    apart = torch.where(near, 1.0, x)
    return torch.where(near, series, apart.sin() / apart)
