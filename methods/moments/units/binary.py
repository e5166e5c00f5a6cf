r"""Moments of units between 0 and 1: thresholds, random bits and distribution functions.

Stochastic units (`logistic_bernoulli`, `probit_unit`) have a variance even if their input is
known exactly. $\sigma_S^2 = \pi^2/3$ is the variance of the standard logistic distribution S.
"""

from math import pi, sqrt
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units import standard
from bnnbench.methods.moments.units.standard import LOGISTIC_VARIANCE

Law = Literal["normal", "logistic"]
Bernoulli = Literal["ap2b", "ap2a"]
Transform = Literal["moderate", "wide"]

LEAST_WIDE = 4.0
"""The variance above which paper 001 recommends eq. 22."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)


def heaviside(x: Moments, law: Law = "normal") -> Moments:
    r"""Return the moments of [X >= 0] for a normal or logistic X.

    The mean is $\Phi(\mu/\sigma)$ or $S(\mu\sigma_S/\sigma)$. Source: paper 001, eqs. 18 and 19.
    """
    if law not in ("normal", "logistic"):
        raise ValueError(f'needed law "normal" or "logistic"; got {law!r}')
    step = (x.mean >= 0).to(x.mean.dtype)
    if x.variance is None:
        return Moments(step)
    a = standard.standardised(x.mean, x.variance)
    bit = _normal_bit(a) if law == "normal" else _logistic_bit(a * sqrt(LOGISTIC_VARIANCE))
    assert bit.variance is not None
    known = x.variance == 0
    return Moments(torch.where(known, step, bit.mean), bit.variance.masked_fill(known, 0))


def logistic_bernoulli(x: Moments, rule: Bernoulli = "ap2b") -> Moments:
    r"""Return the moments of a bit that is 1 with probability S(X), for a normal X.

    The mean is $S(\mu/\sqrt{v/\sigma_S^2 + 1})$ ("ap2b", more accurate below a standard deviation
    of about 1.5) or $\Phi(\mu/\sqrt{v + \sigma_S^2})$ ("ap2a"). Source: paper 001, section 3.2.
    """
    variance = _variance(x)
    if rule == "ap2b":
        return Moments(*_LogisticBernoulli.apply(x.mean, variance))
    if rule == "ap2a":
        return _normal_bit(x.mean / (variance + LOGISTIC_VARIANCE).sqrt())
    raise ValueError(f'needed rule "ap2b" or "ap2a"; got {rule!r}')


def logistic_transform(x: Moments, rule: Transform = "moderate") -> Moments:
    r"""Return the moments of S(X) for a normal X.

    "moderate": the mean m of "ap2b" and the variance $4v/(v + 4) (m(1 - m))^2$. "wide", for
    variances from 4: the mean of "ap2a" and the variance
    $\Phi((\mu - 1)/\sqrt{v + \sigma_S^2 - 1}) - m^2$. Source: paper 001, eqs. 21 and 22.
    """
    if rule not in ("moderate", "wide"):
        raise ValueError(f'needed rule "moderate" or "wide"; got {rule!r}')
    if x.variance is None:
        return Moments(standard.logistic(x.mean))
    bit = logistic_bernoulli(x)
    assert bit.variance is not None
    v = x.variance
    mean, variance = bit.mean, 4 * v / (v + 4) * bit.variance**2
    if rule == "wide":
        wide = logistic_bernoulli(x, "ap2a").mean
        second = standard.normal_cdf((x.mean - 1) / (v + LOGISTIC_VARIANCE - 1).sqrt())
        mean = torch.where(v >= LEAST_WIDE, wide, mean)
        variance = torch.where(v >= LEAST_WIDE, (second - wide**2).clamp(min=0), variance)
    return Moments(mean, variance)


def probit_unit(x: Moments) -> Moments:
    r"""Return the moments of a bit that is 1 with probability $\Phi(X)$, for a normal X.

    The mean is $\Phi(\mu/\sqrt{1 + v})$, exactly. Source: paper 001, appendix C.8.
    """
    return _normal_bit(x.mean / (1 + _variance(x)).sqrt())


def normal_cdf(x: Moments) -> Moments:
    r"""Return the exact moments of $\Phi(X)$ for a normal X.

    With $h = \mu/\sqrt{1 + v}$ the mean is $\Phi(h)$, and the variance

    $$ \Phi(h) - 2T(h, 1/\sqrt{1 + 2v}) - \Phi(h)^2
       = \frac{1}{2\pi}\int_0^{\arcsin(v/(1+v))} \exp\frac{-h^2}{1 + \sin t} dt, $$

    T being Owen's function: the probability that two normals of correlation v/(1+v) are both
    below h, minus the probability for independent ones (Plackett 1954).
    """
    if x.variance is None:
        return Moments(standard.normal_cdf(x.mean))
    h = x.mean / (1 + x.variance).sqrt()
    angle = torch.atan(x.variance / (1 + 2 * x.variance).sqrt())
    total = torch.zeros_like(h)
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        inside = 1 + torch.sin(angle * ((1 + node) / 2))
        total = total + weight * (-h * h / inside).exp()
    return Moments(standard.normal_cdf(h), angle * total / (4 * pi))


def _variance(x: Moments) -> Tensor:
    return torch.zeros_like(x.mean) if x.variance is None else x.variance


def _logistic_bit(z: Tensor) -> Moments:
    """Return the moments of a bit that is 1 with probability S(z)."""
    return Moments(standard.logistic(z), standard.logistic_slope(z))


def _normal_bit(a: Tensor) -> Moments:
    r"""Return the moments of a bit that is 1 with probability $\Phi(a)$."""
    cdf = standard.normal_cdf(a)
    return Moments(cdf, cdf * standard.normal_cdf(-a))


class _LogisticBernoulli(torch.autograd.Function):
    """Mean and variance of "ap2b", in few passes over memory because training uses them."""

    @staticmethod
    def forward(ctx: Any, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
        shrinkage = (variance / LOGISTIC_VARIANCE).add_(1).sqrt_().reciprocal_()
        z = mean * shrinkage
        # Like standard.logistic, in place; torch's sigmoid depends on a unit's position in memory.
        small = z.abs().neg_().exp_()
        likelier = (1 + small).reciprocal_()
        rarer = small.mul_(likelier)
        probability = torch.where(z > 0, likelier, rarer)
        bit_variance = likelier * rarer
        skew = rarer.sub_(likelier).copysign_(z).neg_()
        ctx.save_for_backward(z, shrinkage, bit_variance, skew)
        return probability, bit_variance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_mean: Tensor, to_variance: Tensor) -> tuple[Tensor, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        z, shrinkage, bit_variance, skew = ctx.saved_tensors
        gradient = (to_variance * skew).add_(to_mean).mul_(bit_variance).mul_(shrinkage)
        return gradient, (gradient * z).mul_(shrinkage).mul_(-0.5 / LOGISTIC_VARIANCE)
