r"""Moments of rectified units: ReLU, LeakyReLU and, with slope -1, the absolute value.

$a = \mu/\sigma$; $\phi$, $\Phi$ the standard normal's density and distribution; R the variance
ratio of ReLU; $\alpha$ the slope of negative inputs. Source: paper 001, eqs. 26, 31, 36, 38 and 39.
"""

from math import sqrt
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.kernels.selection import Backend, kernels_for
from bnnbench.methods.moments.units import standard

Variance = Literal["exact", "paper"]
"""The formula for variances of rectifiers and maxima: exact, or a logistic function."""


def relu(x: Moments, variance: Variance = "exact", backend: Backend = "fused") -> Moments:
    """Return the moments of max(X, 0) for a normal X."""
    return leaky_relu(x, 0.0, variance, backend)


def leaky_relu(
    x: Moments, slope: float, variance: Variance = "exact", backend: Backend = "fused"
) -> Moments:
    r"""Return the moments of X if X > 0 and slope X otherwise, for a normal X.

    $$ \mu' = \mu(\alpha + (1-\alpha)\Phi(a)) + (1-\alpha)\sigma\phi(a), \quad
       v' = v(\alpha^2 + 2\alpha(1-\alpha)\Phi(a) + (1-\alpha)^2 R(a)) $$

    or, with "paper", $v' = v(\alpha^2 + (1-\alpha^2) S(a/t))$ with t = 0.3729. At variance 0 the
    mean is the deterministic function of the mean, to the last bit. Differentiable once.
    """
    if variance not in ("exact", "paper"):
        raise ValueError(f'needed variance "exact" or "paper"; got {variance!r}')
    if x.variance is None:
        return Moments(F.leaky_relu(x.mean, slope))
    arguments = (slope, variance == "exact", backend)
    return Moments(*_Rectifier.apply(x.mean, x.variance, *arguments))  # pyright: ignore[reportGeneralTypeIssues]


class _Rectifier(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, mean: Tensor, variance: Tensor, slope: float, exact: bool, backend: Backend
    ) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(mean, variance)
        ctx.kernels, ctx.slope, ctx.exact = kernels_for(backend, mean), slope, exact
        return ctx.kernels.rectifier(mean, variance, slope, exact)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *to: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        gradients = ctx.kernels.rectifier_gradient(*ctx.saved_tensors, *to, ctx.slope, ctx.exact)
        return *gradients, None, None, None


def absolute(x: Moments) -> Moments:
    """Return the moments of |X| for a normal X."""
    return leaky_relu(x, -1.0)


def relu_logistic(x: Moments) -> Moments:
    r"""Return the moments of max(X, 0) for a logistic X.

    With $s = \sigma/\sigma_S$, $\sigma_S^2 = \pi^2/3$, y = mean/s and Li₂ the dilogarithm:

    $$ \mu' = s\log(1 + e^y), \quad v' = -2s^2\mathrm{Li}_2(-e^y) - \mu'^2 $$

    Source: paper 001, appendix C.1.
    """
    mean = torch.relu(x.mean)
    if x.variance is None:
        return Moments(mean)
    y = sqrt(standard.LOGISTIC_VARIANCE) * standard.standardised(x.mean, x.variance)
    scale = (x.variance.clamp(min=standard.LEAST_VARIANCE) / standard.LOGISTIC_VARIANCE).sqrt()
    excess = (scale * standard.logistic_excess(y)).masked_fill(x.variance == 0, 0)
    return Moments(mean + excess, x.variance * standard.logistic_variance_ratio(y))
