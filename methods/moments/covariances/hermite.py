r"""Covariances after nonlinear units, by the Hermite expansion of functions of normal units.

For jointly normal X and Y of correlation $\rho$ and standard deviations $\sigma$, $\tau$,

$$ \operatorname{Cov}[f(X), g(Y)] = \sum_{k \ge 1} \frac{\rho^k}{k!} c_k(f) c_k(g), \qquad
   c_k(f) = E[f(X) H_k(Z)] = \sigma^k E[f^{(k)}(X)], \quad X = \mu + \sigma Z, $$

with $H_k$ the (probabilists') Hermite polynomials. The first term is
$E[f'] E[g'] \operatorname{Cov}[X, Y]$. Source: Price (1958), "A Useful Theorem for Nonlinear
Devices Having Gaussian Inputs".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial, pi, sqrt

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units import standard
from bnnbench.methods.moments.units.binary import Bernoulli
from bnnbench.methods.moments.units.quadrature import NODES, WEIGHTS
from bnnbench.methods.moments.units.standard import LEAST_VARIANCE, LOGISTIC_VARIANCE


@dataclass(frozen=True)
class Expansion:
    """The first coefficients of each unit's function."""

    slope: Float[Tensor, "*shape"]
    r"""$c_1/\sigma = E[f'(X)]$, which is finite even at variance 0."""
    higher: Sequence[Float[Tensor, "*shape"]] = ()
    r"""$c_2, c_3, \dots$"""

    def within(self, before: Tensor, after: Tensor) -> "Expansion":
        r"""Return it shrunk, for each unit whose $\sum c_k^2/k!$ exceeds the variance `after`.

        The sum is the variance explained by the first terms. It is less than the variance of
        any function, but need not be less than an approximation of it.
        """
        explained = self.slope.square() * before
        for k, c in enumerate(self.higher, 2):
            explained = explained + c.square() / factorial(k)
        exceeds = explained > after
        shrink = torch.where(exceeds, after / torch.where(exceeds, explained, 1), 1)
        # at variance 0 the root has no gradient, and the coefficients have nothing to explain
        shrink = torch.where(shrink > 0, shrink, 1).sqrt() * (shrink > 0)
        return Expansion(self.slope * shrink, [c * shrink for c in self.higher])


def rectifier(x: Moments, slope: float, order: int) -> Expansion:
    r"""Return the expansion of max(X, slope X).

    $$ c_1 = \sigma(\alpha + (1 - \alpha)\Phi(a)), \qquad
       c_k = \sigma(1 - \alpha) \phi(a) H_{k-2}(-a). $$
    """
    a = standard.standardised(x.mean, _variance(x))
    gate = slope + (1 - slope) * standard.normal_cdf(a)
    density = (-a * a / 2).exp() / sqrt(2 * pi)
    scale = (1 - slope) * _std(x) * density
    return Expansion(gate, [scale * h for h in hermite(-a, order - 1)])


def logistic_unit(x: Moments, order: int, rule: Bernoulli = "ap2b") -> Expansion:
    r"""Return the expansion of P(Y = 1 | X) = S(X), with its mean as a function m(μ, v).

    $c_k = \sigma^k \partial^k m/\partial\mu^k$ with the m of "ap2b" or "ap2a".
    """
    variance = _variance(x)
    if rule == "ap2b":
        width = (variance / LOGISTIC_VARIANCE + 1).sqrt()
        derivatives = _logistic_derivatives(x.mean / width, order)
    elif rule == "ap2a":
        width = (variance + LOGISTIC_VARIANCE).sqrt()
        h = x.mean / width
        density = (-h * h / 2).exp() / sqrt(2 * pi)
        derivatives = [density * polynomial for polynomial in hermite(-h, order)]
    else:
        raise ValueError(f'needed rule "ap2b" or "ap2a"; got {rule!r}')
    first, *others = derivatives
    ratio = _std(x) / width
    return Expansion(first / width, [d * ratio**k for k, d in enumerate(others, 2)])


def smooth(derivative: Callable[[Tensor], Tensor]) -> Callable[[Moments, int], Expansion]:
    r"""Return the expansion of a function with this derivative, by quadrature.

    $c_k = \sigma E[f'(X) H_{k-1}(Z)]$.
    """

    def expansion(x: Moments, order: int) -> Expansion:
        std = _std(x)
        sums = [torch.zeros_like(x.mean) for _ in range(order)]
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            at_node = weight * derivative(x.mean + node * std)
            polynomials = hermite(torch.tensor(node, dtype=torch.float64), order)
            sums = [s + at_node * float(h) for s, h in zip(sums, polynomials, strict=True)]
        return Expansion(sums[0], [std * s for s in sums[1:]])

    return expansion


def tanh_slope(x: Tensor) -> Tensor:
    """Return the derivative of tanh."""
    return 1 - x.tanh().square()


def swish_slope(x: Tensor) -> Tensor:
    """Return the derivative of x sigmoid(x)."""
    gate = (1 + (x / 2).tanh()) / 2
    return gate + x * gate * (1 - gate)


def hermite(x: Float[Tensor, "*shape"], count: int) -> list[Float[Tensor, "*shape"]]:
    """Return the first `count` Hermite polynomials, from H_0 = 1."""
    polynomials = [torch.ones_like(x), x]
    for k in range(1, count - 1):
        polynomials.append(x * polynomials[-1] - k * polynomials[-2])
    return polynomials[:count]


def _logistic_derivatives(z: Tensor, order: int) -> list[Tensor]:
    """Return S'(z), S''(z), ...: polynomials in t = S(z) - S(-z) times S'(z) = S(z) S(-z)."""
    t, first = (z / 2).tanh(), standard.logistic_slope(z)
    factor = [1.0]
    derivatives = []
    for _ in range(order):
        derivatives.append(first * sum(c * t**power for power, c in enumerate(factor)))
        factor = _next_factor(factor)
    return derivatives


def _next_factor(factor: list[float]) -> list[float]:
    """Return q in (S' p(t))' = S' q(t), where S'' = -S' t and t' = (1 - t²)/2."""
    new = [0.0] * (len(factor) + 1)
    for power, c in enumerate(factor):
        new[power + 1] -= c * (1 + power / 2)
        if power:
            new[power - 1] += c * power / 2
    return new


def _variance(x: Moments) -> Tensor:
    return torch.zeros_like(x.mean) if x.variance is None else x.variance


def _std(x: Moments) -> Tensor:
    """Return σ, with a gradient also at variance 0."""
    variance = _variance(x)
    return variance * variance.clamp(min=LEAST_VARIANCE).rsqrt()
