"""The CRPS of a prediction that has a cdf, from nothing else."""

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import HasCdf
from bnnbench.metrics.thresholds import Loss, score_by_integration

SQUARES = Loss(torch.square, torch.square)
"""$b(m) = a(m) = m^2$."""


def crps_by_integration(
    prediction: HasCdf, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, " points"]:
    r"""Return the score of each target, averaged over outputs, to a relative error of 1e-7.

    The integral is infinite if the mass of a tail beyond x falls no faster than $x^{-1/2}$, as for
    Student's t with half a degree of freedom or fewer; right above this limit the error is 3e-5.
    Raises `CannotAnswer` if the estimated error exceeds 1 %, as for a cdf with hundreds of steps.
    """
    return score_by_integration(prediction, target, SQUARES)
