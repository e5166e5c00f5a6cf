"""The definition of the kernels, in torch: computed in double precision for every type."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.moments.units import standard
from bnnbench.methods.moments.units.standard import PAPER_SCALE

Units = Float[Tensor, "*shape"]


def rectifier(mean: Units, variance: Units, slope: float, exact: bool) -> tuple[Units, Units]:
    """Return mean and variance of X if X > 0 and slope X otherwise, for a normal X.

    Unless `exact`, the variance is paper 001's approximation, eq. 39.
    """
    x, v, a, std = _standardised(mean, variance)
    positive, bend = x > 0, 1 - slope
    _, tail, excess, lower = standard.normal_tail(a.abs())
    out = F.leaky_relu(mean, slope) + (bend * std * excess).to(mean.dtype)
    if exact:
        twice = 2 * bend * tail
        ratio = torch.where(positive, 1 - twice, slope * (slope + twice)) + bend**2 * lower
    else:
        ratio = slope**2 + (1 - slope**2) * standard.logistic(a / PAPER_SCALE)
    return out, (v * ratio).to(mean.dtype)


def rectifier_gradient(
    mean: Units, variance: Units, to_mean: Units, to_variance: Units, slope: float, exact: bool
) -> tuple[Units, Units]:
    r"""Return the gradients to a normal's moments, given the gradients to its rectifier's.

    By E[f(X)]' = E[f'(X)] with respect to the mean and E[f''(X)]/2 with respect to the variance,
    for f the rectifier and its square:

    $$ \partial_\mu \mu' = \alpha + (1-\alpha)\Phi(a), \quad
       \partial_v \mu' = (1-\alpha)\phi(a)/(2\sigma), \quad
       \partial_\mu v' = 2(1-\alpha)\sigma
           ((1-\alpha)(a\Phi(a) + \phi(a))\Phi(-a) + \alpha\phi(a)), \quad
       \partial_v v' = \alpha^2 + (1-\alpha^2)\Phi(a) - (1-\alpha)\phi(a)\mu'/\sigma $$
    """
    x, v, a, std = _standardised(mean, variance)
    positive, bend, share = x > 0, 1 - slope, 1 - slope**2
    density, tail, excess, _ = standard.normal_tail(a.abs())
    below, above = torch.where(positive, tail, 1 - tail), torch.where(positive, 1 - tail, tail)
    mean_variance = bend * density / (2 * v.clamp(min=standard.LEAST_VARIANCE).sqrt())
    if exact:
        factor = a.clamp(min=0) + excess
        variance_mean = 2 * bend * std * (bend * factor * below + slope * density)
        slant = slope * a + bend * factor
        variance_variance = slope**2 + share * above - bend * density * slant
    else:
        steep = share / PAPER_SCALE * standard.logistic_slope(a / PAPER_SCALE)
        variance_mean = std * steep
        ratio = slope**2 + share * standard.logistic(a / PAPER_SCALE)
        variance_variance = ratio - a * steep / 2
    first, second = to_mean.double(), to_variance.double()
    out_mean = first * (slope + bend * above) + second * variance_mean
    out_variance = first * mean_variance + second * variance_variance
    return out_mean.to(mean.dtype), out_variance.to(mean.dtype)


def maximum(
    x_mean: Units, x_variance: Units, y_mean: Units, y_variance: Units, exact: bool
) -> tuple[Units, Units]:
    """Return mean and variance of the maximum of two independent normals.

    Unless `exact`, the variance is paper 001's approximation, eq. 41.
    """
    difference, first, second = x_mean - y_mean, x_variance.double(), y_variance.double()
    _, _, a, std = _standardised(difference, first + second)
    excess = standard.normal_tail(a.abs())[2]
    mean = torch.where(difference > 0, x_mean, y_mean) + (std * excess).to(x_mean.dtype)
    of_first, of_second = (_share(sign * a, exact) for sign in (1, -1))
    return mean, (first * of_first + second * of_second).to(mean.dtype)


def maximum_gradient(
    x_mean: Units,
    x_variance: Units,
    y_mean: Units,
    y_variance: Units,
    to_mean: Units,
    to_variance: Units,
    exact: bool,
) -> tuple[Units, Units, Units, Units]:
    r"""Return the gradients to two normals' moments, given the gradients to their maximum's.

    The mean's are $\Phi(\pm a)$ and $\phi(a)/(2s)$; the variance depends on both variances, with
    shares R(a) and R(-a), and on a, where $R' = 2(a\Phi(a) + \phi(a))\Phi(-a)$.
    """
    first, second = x_variance.double(), y_variance.double()
    _, total, a, _ = _standardised(x_mean - y_mean, first + second)
    inverse = total.clamp(min=standard.LEAST_VARIANCE).rsqrt()
    density, tail, _, _ = standard.normal_tail(a.abs())
    push = (
        to_variance.double()
        * inverse
        * (first * _share_slope(a, exact) - second * _share_slope(-a, exact))
    )
    spread = inverse / 2 * (to_mean.double() * density - a * push)
    gradients = []
    for sign, share in ((1, _share(a, exact)), (-1, _share(-a, exact))):
        chance = torch.where(sign * a > 0, 1 - tail, tail)
        gradients += [to_mean * chance + sign * push, to_variance * share + spread]
    x, xv, y, yv = (gradient.to(x_mean.dtype) for gradient in gradients)
    return x, xv, y, yv


def _share(a: Tensor, exact: bool) -> Tensor:
    """Return R(a), or paper 001's approximation of it."""
    if not exact:
        return standard.logistic(a / PAPER_SCALE)
    _, tail, _, lower = standard.normal_tail(a.abs())
    return torch.where(a > 0, 1 - 2 * tail + lower, lower)


def _share_slope(a: Tensor, exact: bool) -> Tensor:
    """Return the derivative of `_share`."""
    if not exact:
        return standard.logistic_slope(a / PAPER_SCALE) / PAPER_SCALE
    _, tail, excess, _ = standard.normal_tail(a.abs())
    return torch.where(a > 0, 2 * (a + excess) * tail, 2 * excess * (1 - tail))


def _standardised(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    x, v = mean.double(), variance.double()
    return x, v, standard.standardised(x, v), v.sqrt()
