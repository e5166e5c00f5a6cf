"""The mean of the logistic function over an interval."""

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor
from torch.nn.functional import logsigmoid

NARROW = 2.0
NODES = 16
"""Number of Gauss-Legendre nodes: exact to rounding on intervals up to `NARROW`."""
FAR = -36.0
"""Below this, softplus(x) is exp(x) to rounding."""


def mean_logistic(
    lower: Float[Tensor, "*#batch"], upper: Float[Tensor, "*#batch"]
) -> Float64[Tensor, "*batch"]:
    """Return the mean of 1 / (1 + exp(-x)) over the interval."""
    return log_mean_logistic(lower, upper).exp()


def log_mean_logistic(
    lower: Float[Tensor, "*#batch"], upper: Float[Tensor, "*#batch"]
) -> Float64[Tensor, "*batch"]:
    r"""Return the log of the mean of the logistic function over the interval.

    $$ \frac{\mathrm{softplus}(b) - \mathrm{softplus}(a)}{b - a} $$

    or, where that would cancel, a quadrature.
    """
    a, b = torch.broadcast_tensors(lower.double(), upper.double())
    x, weights = map(torch.from_numpy, np.polynomial.legendre.leggauss(NODES))
    x, log_weights = x.to(a.device), (weights / 2).log().to(a.device)
    points = ((a + b) / 2)[..., None] + ((b - a) / 2)[..., None] * x
    narrow = (logsigmoid(points) + log_weights).logsumexp(-1)
    narrow_enough = b - a < NARROW
    start = torch.where(narrow_enough, b - NARROW, a)
    difference = torch.logaddexp(b, torch.zeros_like(b)) - torch.logaddexp(
        start, torch.zeros_like(b)
    )
    small = b < FAR
    log_difference = torch.where(
        small, b + torch.log1p(-(start - b).exp()), torch.where(small, 1.0, difference).log()
    )
    return torch.where(narrow_enough, narrow, log_difference - (b - start).log())
