r"""Functions of the standard normal and logistic distributions without cancellation or overflow.

Notation: $\phi$, $\Phi$ the standard normal's density and distribution, S the standard logistic's.
Tails are computed in double precision, whatever the type of the arguments.
"""

from math import factorial, pi, sqrt
from typing import Any

import torch
from jaxtyping import Float
from scipy.special import bernoulli
from torch import Tensor
from torch.autograd.function import once_differentiable

LOGISTIC_VARIANCE = pi**2 / 3
"""Variance of the standard logistic distribution."""
PAPER_SCALE = 0.3729
"""t in paper 001's R(a) ~ S(a/t), which is 0.5 at a = 0, where R is 0.341."""
LEAST_VARIANCE = 1e-24
"""The minimum variance used when dividing by a standard deviation."""
MOST_STANDARDISED = 1e3
"""At this many standard deviations from 0, a unit certainly has the sign of its mean."""

DILOGARITHM = tuple(float(bernoulli(2 * k)[-1]) / factorial(2 * k + 1) for k in range(1, 9))
"""Coefficients of w^3, w^5, ... of the dilogarithm of 1 - e^w."""


def standardised(
    mean: Float[Tensor, "*shape"], variance: Float[Tensor, "*shape"]
) -> Float[Tensor, "*shape"]:
    """Return a = mean/std, at most 1000 in magnitude, also at variance 0."""
    scaled = mean / variance.clamp(min=LEAST_VARIANCE).sqrt()
    return scaled.clamp(-MOST_STANDARDISED, MOST_STANDARDISED)


def logistic(z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return S(z), accurate in both tails."""
    small, half = _logistic_parts(z)
    return torch.where(z > 0, half, small * half)


def logistic_slope(z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return S(z) S(-z), the derivative of S."""
    small, half = _logistic_parts(z)
    return small * half**2


def _logistic_parts(z: Tensor) -> tuple[Tensor, Tensor]:
    small = torch.where(z > 0, -z, z).exp()
    return small, 1 / (1 + small)


def normal_tail(y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    r"""Return $\phi$, $\Phi(-y)$, and mean and variance of max(Z - y, 0), Z standard normal.

    All at y >= 0, by Mills' ratio $m = \Phi(-y)/\phi$: in double precision the differences
    are accurate to at least 9 digits unless the results underflow.
    """
    mills = sqrt(pi / 2) * torch.special.erfcx(y / sqrt(2))
    density = (-y * y / 2).exp() / sqrt(2 * pi)
    excess = density * (1 - y * mills).clamp(min=0)
    variance = density * ((y * y + 1) * mills - y).clamp(min=0) - excess**2
    return density, density * mills, excess, variance


def normal_cdf(a: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    r"""Return $\Phi(a)$, accurate in the lower tail."""
    return _NormalCdf.apply(a)  # pyright: ignore[reportReturnType]


def log_normal_cdf(a: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    r"""Return $\log\Phi(a)$, with a gradient far below 0, which torch's own lacks."""
    return _LogNormalCdf.apply(a)  # pyright: ignore[reportReturnType]


def variance_ratio(a: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    r"""Return R(a), the variance of max(Z + a, 0) with Z standard normal.

    $$ R(a) = a\phi(a) + (a^2 + 1)\Phi(a) - (a\Phi(a) + \phi(a))^2, $$

    between R(-∞) = 0 and R(∞) = 1. Source: paper 001, eq. 31.
    """
    return _VarianceRatio.apply(a)  # pyright: ignore[reportReturnType]


def mean_factor(a: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    r"""Return $a\Phi(a) + \phi(a)$, the mean of max(Z + a, 0) with Z standard normal."""
    return _MeanFactor.apply(a)  # pyright: ignore[reportReturnType]


def mean_excess(
    mean: Float[Tensor, "*shape"], variance: Float[Tensor, "*shape"]
) -> Float[Tensor, "*shape"]:
    """Return E[max(X, 0)] - max(mean, 0) for a normal X: exactly 0 at variance 0.

    Its gradients are free of cancellation; at mean 0 they are those of negative means.
    """
    return _MeanExcess.apply(mean, variance)  # pyright: ignore[reportReturnType]


def logistic_excess(y: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    r"""Return $\log(1 + e^y) - \max(y, 0)$; the gradient at 0 is the left-sided one."""
    return torch.where(y > 0, -y, y).exp().log1p()


def logistic_variance_ratio(y: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    r"""Return the variance of max(Z + y, 0) divided by the variance of Z, Z standard logistic.

    That is $(-2\mathrm{Li}_2(-e^y) - \log(1 + e^y)^2)/\sigma_S^2$, where
    $-\mathrm{Li}_2(1 - e^w) = w + w^2/4 + \sum_k B_{2k}w^{2k+1}/(2k+1)!$ with $B$ Bernoulli's
    numbers; since $w = \log(1 + e^{-|y|}) \le \log 2$, eight terms suffice.
    """
    w = logistic_excess(y)
    square = w * w
    series = torch.zeros_like(w)
    for coefficient in reversed(DILOGARITHM):
        series = (series + coefficient) * square
    lower = w * (2 - w / 2 + 2 * series)
    upper = LOGISTIC_VARIANCE - lower - 2 * w * (w + y)
    return torch.where(y > 0, upper, lower) / LOGISTIC_VARIANCE


class _NormalCdf(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        tail = normal_tail(a.double().abs())[1]
        return torch.where(a > 0, 1 - tail, tail).to(a.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        (a,) = ctx.saved_tensors
        return gradient * ((-a * a / 2).exp() / sqrt(2 * pi))


class _LogNormalCdf(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return torch.special.log_ndtr(a.double()).to(a.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        (a,) = ctx.saved_tensors
        hazard = sqrt(2 / pi) / torch.special.erfcx(a.double() / -sqrt(2))
        return gradient * hazard.to(a.dtype)


class _VarianceRatio(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        _, tail, _, lower = normal_tail(a.double().abs())
        return torch.where(a > 0, 1 - 2 * tail + lower, lower).to(a.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        (a,) = ctx.saved_tensors
        y = a.double().abs()
        _, tail, excess, _ = normal_tail(y)
        slope = torch.where(a > 0, 2 * (y + excess) * tail, 2 * excess * (1 - tail))
        return gradient * slope.to(a.dtype)


class _MeanFactor(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        _, tail, excess, _ = normal_tail(a.double().abs())
        ctx.save_for_backward(torch.where(a > 0, 1 - tail, tail).to(a.dtype))
        return (a.double().clamp(min=0) + excess).to(a.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return gradient * ctx.saved_tensors[0]


class _MeanExcess(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mean: Tensor, variance: Tensor) -> Tensor:
        density, tail, excess, _ = normal_tail(standardised(mean.double(), variance.double()).abs())
        std = variance.double().clamp(min=LEAST_VARIANCE).sqrt()
        to_mean = torch.where(mean > 0, -tail, tail).to(mean.dtype)
        ctx.save_for_backward(to_mean, (density / (2 * std)).to(mean.dtype))
        return (variance.double().sqrt() * excess).to(mean.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        to_mean, to_variance = ctx.saved_tensors
        return gradient * to_mean, gradient * to_variance
