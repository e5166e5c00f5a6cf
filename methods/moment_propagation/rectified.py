r"""Moments of rectified units: ReLU, LeakyReLU and, of slope -1, the absolute value.

$a = \mu/\sigma$; $\phi$, $\Phi$ the standard normal's density and distribution; R the variance
ratio of ReLU; $\alpha$ the slope of negative inputs. Source: paper 001, eqs. 26, 31, 36, 38 and 39.
"""

from math import sqrt
from typing import Literal

import torch
import torch.nn.functional as F

from methods.moment_propagation import standard
from methods.moment_propagation.moments import Moments

Variance = Literal["exact", "paper"]
"""How variances of rectifiers and maxima are computed: exactly, or by a logistic function."""

PAPER_SCALE = 0.3729
"""t of paper 001's R(a) ~ S(a/t), which is 0.5 at a = 0, where R is 0.341."""


def relu(x: Moments, variance: Variance = "exact") -> Moments:
    """Return the moments of max(X, 0) of a normal X."""
    return leaky_relu(x, 0.0, variance)


def leaky_relu(x: Moments, slope: float, variance: Variance = "exact") -> Moments:
    r"""Return the moments of X where it is positive and of slope X elsewhere, of a normal X.

    $$ \mu' = \mu(\alpha + (1-\alpha)\Phi(a)) + (1-\alpha)\sigma\phi(a), \quad
       v' = v(\alpha^2 + 2\alpha(1-\alpha)\Phi(a) + (1-\alpha)^2 R(a)) $$

    or, as "paper", $v' = v(\alpha^2 + (1-\alpha^2) S(a/t))$. At variance 0 the mean is the
    deterministic function of the mean, to the last bit.
    """
    mean = F.leaky_relu(x.mean, slope)
    if x.variance is None:
        return Moments(mean)
    bend = 1 - slope
    mean = mean + bend * standard.mean_excess(x.mean, x.variance)
    a = standard.standardised(x.mean, x.variance)
    if variance == "paper":
        ratio = slope**2 + (1 - slope**2) * standard.logistic(a / PAPER_SCALE)
    elif variance == "exact":
        cross = 2 * slope * bend * standard.normal_cdf(a)
        ratio = slope**2 + cross + bend**2 * standard.variance_ratio(a)
    else:
        raise ValueError(f'needed variance "exact" or "paper"; got {variance!r}')
    return Moments(mean, x.variance * ratio)


def absolute(x: Moments) -> Moments:
    """Return the moments of |X| of a normal X."""
    return leaky_relu(x, -1.0)


def relu_logistic(x: Moments) -> Moments:
    r"""Return the moments of max(X, 0) of a logistic X.

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
