r"""Moments of the logistic function's piecewise exponential approximation (PEA), for comparison.

$$ L(x) = 2^{x-1} \text{ for } x < 0, \quad 1 - 2^{-x-1} \text{ otherwise}, $$

the distribution function of a Laplace variable of scale 1/ln 2. Source: paper 001, eq. 20, after
Astudillo and da Silva Neto (2011), who also give the variance.
"""

from math import log, sqrt

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.standard import LEAST_VARIANCE, normal_cdf


def piecewise_exponential(x: Moments) -> Moments:
    r"""Return the exact moments of L(X) for a normal X, computed in float64.

    $$ \Phi(a) + t_1^+/2 - t_1^-/2, \quad \Phi(a) - t_1^- + (t_2^+ + t_2^-)/4, $$

    with $t_k^\pm = E[2^{\pm kX}; \pm X < 0]$ and $a = \mu/\sigma$, are the first two moments. The
    variance is their difference and has an absolute rounding error of 1e-16.
    """
    spread = torch.zeros_like(x.mean) if x.variance is None else x.variance
    mean, variance = x.mean.double(), spread.double()
    cdf = normal_cdf(mean / variance.clamp(min=LEAST_VARIANCE).sqrt())
    below, above = (_tail(sign * mean, variance, 1) for sign in (1, -1))
    square_below, square_above = (_tail(sign * mean, variance, 2) for sign in (1, -1))
    first = cdf + (below - above) / 2
    second = cdf - above + (square_below + square_above) / 4
    rest = (second - first.square()).clamp(min=0).masked_fill(variance == 0, 0)
    return Moments(first.to(x.mean.dtype), rest.to(x.mean.dtype))


def _tail(
    mean: Float[Tensor, "*shape"], variance: Float[Tensor, "*shape"], power: int
) -> Float[Tensor, "*shape"]:
    """Return E[2^(power X); X < 0], that is e^(r mean + r² variance/2) Phi(-b), r = power ln 2."""
    std, rate = variance.clamp(min=LEAST_VARIANCE).sqrt(), power * log(2)
    a = mean / std
    b = a + rate * std
    # The two factors overflow and underflow if b > 0.
    beyond = (-a * a / 2).exp() * torch.special.erfcx(b.clamp(min=0) / sqrt(2)) / 2
    growth = (rate * mean + rate**2 * variance / 2).clamp(max=0).exp()
    return torch.where(b > 0, beyond, growth * normal_cdf(-b))
