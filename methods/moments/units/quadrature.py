r"""Moments, by quadrature, of smooth units without a closed form: Tanh, Swish and Sigmoid.

With $X = \mu + \sigma Z$ the derivatives of an expectation are expectations of derivatives,

$$ \partial E f(X) / \partial\mu = E f'(X), \qquad \partial E f(X) / \partial v = E f''(X) / 2, $$

which remain exact at variance 0.
"""

from collections.abc import Callable
from math import exp, pi, sqrt
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units import standard

REACH, STEPS = 8.0, 40
"""Nodes are 0.2 standard deviations apart; 1e-15 of the mass lies beyond the last."""
NODES = tuple(REACH * k / STEPS for k in range(-STEPS, STEPS + 1))
_MASS = sum(exp(-z * z / 2) for z in NODES)
WEIGHTS = tuple(exp(-z * z / 2) / _MASS for z in NODES)

WIDE = 9.0
"""The variance above which S(X) is integrated over the logistic instead of the normal
distribution."""
LOGISTIC_STEP = 0.6
LOGISTIC_NODES = tuple(LOGISTIC_STEP * k for k in range(-55, 56))
"""Nodes for the logistic distribution; 1e-14 of its mass lies beyond the last."""

Jet = Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]
"""x -> f(x), f'(x), f''(x)."""


def tanh(x: Moments) -> Moments:
    """Return the moments of tanh(X) for a normal X: to 2e-6 up to a std of 3, 1e-2 at 10."""
    return _moments(_tanh, x)


def swish(x: Moments) -> Moments:
    """Return the moments of X sigmoid(X) for a normal X: to 1e-7 up to a std of 5, 1e-4 at 10."""
    return _moments(_swish, x)


def sigmoid(x: Moments) -> Moments:
    r"""Return the moments of S(X) for a normal X, S the logistic function: to 1e-11 in float64.

    The variance remains accurate if S(X) or 1 - S(X) is small. Above a variance of 9, nodes in X
    would be too far apart for S; the sums then run over a logistic variable L, whose distribution
    function is S:

    $$ E S(X) = P(L \le X) = E \Phi((\mu - L)/\sigma), \qquad
       E S(X)^2 = E[2 S(L) \Phi((\mu - L)/\sigma)]. $$
    """
    if x.variance is None:
        return Moments(standard.logistic(x.mean))
    upper = x.mean > 0
    low = torch.where(upper, -x.mean, x.mean)
    mean, variance = _Expectation.apply(low, x.variance.clamp(max=WIDE), _sigmoid)  # pyright: ignore[reportGeneralTypeIssues]
    wide = x.variance > WIDE
    if wide.any():
        others = _WideSigmoid.apply(low, x.variance.clamp(min=WIDE))
        pairs = zip(others, (mean, variance), strict=True)  # pyright: ignore[reportArgumentType]
        mean, variance = (torch.where(wide, other, one) for other, one in pairs)
    return Moments(torch.where(upper, 1 - mean, mean), variance)


def _moments(jet: Jet, x: Moments) -> Moments:
    if x.variance is None:
        return Moments(jet(x.mean)[0])
    mean, variance = _Expectation.apply(x.mean, x.variance, jet)  # pyright: ignore[reportGeneralTypeIssues]
    return Moments(mean, variance)


def _tanh(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    value = x.tanh()
    slope = 1 - value.square()
    return value, slope, -2 * value * slope


def _swish(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    gate = (1 + (x / 2).tanh()) / 2
    bend = gate * (1 - gate)
    return x * gate, gate + x * bend, bend * (2 + x * (1 - 2 * gate))


def _sigmoid(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    value, slope = standard.logistic(x), standard.logistic_slope(x)
    return value, slope, -slope * (x / 2).tanh()


class _Expectation(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mean: Tensor, variance: Tensor, jet: Jet) -> tuple[Tensor, Tensor]:
        std = variance.sqrt()
        centre = jet(mean)[0]
        first, second, slope, bend, cross, curve = (torch.zeros_like(mean) for _ in range(6))
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            f, df, ddf = jet(mean + node * std)
            f = f - centre  # no cancellation if the variance is small
            first += weight * f
            second += weight * f.square()
            slope += weight * df
            bend += weight * ddf
            cross += weight * f * df
            curve += weight * (df.square() + f * ddf)
        ctx.save_for_backward(slope, bend / 2, 2 * (cross - first * slope), curve - first * bend)
        return centre + first, (second - first.square()).clamp(min=0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_mean: Tensor, to_variance: Tensor) -> tuple[Tensor, Tensor, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        slope, bend, cross, curve = ctx.saved_tensors
        return to_mean * slope + to_variance * cross, to_mean * bend + to_variance * curve, None


class _WideSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
        std = variance.sqrt()
        first, second, slope, bend, cross, curve = (torch.zeros_like(mean) for _ in range(6))
        for node in LOGISTIC_NODES:
            below = 1 / (1 + exp(-node))
            weight = LOGISTIC_STEP * below * (1 - below)
            a = (mean - node) / std
            cdf = weight * standard.normal_cdf(a)
            density = weight / sqrt(2 * pi) * (-a * a / 2).exp() / std
            first += cdf
            second += 2 * below * cdf
            slope += density
            bend -= density * a / (2 * std)
            cross += 2 * below * density
            curve -= below * density * a / std
        ctx.save_for_backward(slope, bend, cross - 2 * first * slope, curve - 2 * first * bend)
        return first, (second - first.square()).clamp(min=0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_mean: Tensor, to_variance: Tensor) -> tuple[Tensor, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        slope, bend, cross, curve = ctx.saved_tensors
        return to_mean * slope + to_variance * cross, to_mean * bend + to_variance * curve
