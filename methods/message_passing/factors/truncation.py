r"""The factor $\mathbb{1}[d > 0]$, and the moments of truncated Gaussians that others use."""

from math import pi, sqrt
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.message_passing.factors.double import LEAST, narrowed, widened
from bnnbench.methods.message_passing.gaussian import Gaussian

FAR = -5.0
"""Below this, 1 - hazard (hazard + x) would cancel; the continued fraction converges quickly."""
DEPTH = 24


class Truncated(NamedTuple):
    """N(x, 1) given that it is positive.

    `hazard` is φ(x)/Φ(x), `mean` is x + hazard, `variance` is 1 - `lost`, and `lost` is hazard
    times mean. Each is computed without cancellation, so its relative error is small.
    """

    hazard: Float[Tensor, "*shape"]
    mean: Float[Tensor, "*shape"]
    variance: Float[Tensor, "*shape"]
    lost: Float[Tensor, "*shape"]


def truncated(x: Float[Tensor, "*shape"]) -> Truncated:
    r"""Return the moments of N(x, 1) given that it is positive.

    With y = -x, Laplace's continued fraction gives y + 1/(y + c), c = 2/(y + 3/(y + ...)) for
    the hazard. Then the mean is u = 1/(y + c) and the variance (c - u) u.
    """
    hazard = sqrt(2 / pi) / torch.special.erfcx(x * -sqrt(0.5))
    mean = x + hazard
    y = (-x).clamp_min(-FAR)
    fraction = y
    for numerator in range(DEPTH, 2, -1):
        fraction = y + numerator / fraction
    fraction = 2 / fraction
    tail = 1 / (y + fraction)
    far = x < FAR
    hazard = torch.where(far, y + tail, hazard)
    mean = torch.where(far, tail, mean)
    lost = hazard * mean
    return Truncated(hazard, mean, torch.where(far, (fraction - tail) * tail, 1 - lost), lost)


def cdf(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return Φ(x) with a small relative error; `torch.special.ndtr` underflows below -8."""
    return 0.5 * torch.special.erfc(x * -sqrt(0.5))


def backward(d: Gaussian) -> Gaussian:
    """Return the message to d: N(d) truncated to d > 0, moment-matched, divided by N(d).

    Its precision is never negative. A uniform d is treated as N(0, 1e30).
    """
    wide = widened(d)
    rho = wide.rho.clamp_min(LEAST)
    root = rho.sqrt()
    x = wide.tau / root
    positive = truncated(x)
    shift = torch.where(
        x > 0, positive.hazard * (1 + x * positive.mean), positive.mean - x * positive.variance
    )
    return narrowed(
        Gaussian(root * shift / positive.variance, rho * positive.lost / positive.variance), d
    )
