"""Logarithms of the mass on either side of a threshold, with all digits however far it is."""

import math
from functools import partial
from typing import Any

import scipy.special
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.log_normal import LogNormalPredictive
from bnnbench.methods.predictions.predictive import GaussianPredictive, in_chunks
from bnnbench.methods.predictions.student import StudentPredictive
from bnnbench.methods.predictions.weighted import WeightedGaussianPredictive, shares

Threshold = Float[Tensor, "points outputs"]
LogMass = Float64[Tensor, "points outputs"]


def has_all_digits(prediction: Any) -> bool:
    """Return whether the logarithms do not depend on the rounding of a cdf."""
    return isinstance(
        prediction,
        GaussianPredictive | StudentPredictive | WeightedGaussianPredictive | LogNormalPredictive,
    )


def log_mass_below(prediction: Any, threshold: Threshold) -> LogMass:
    """Return log P(y ≤ threshold) of each output of a prediction with a cdf."""
    return _log_mass(prediction, threshold, 1.0)


def log_mass_above(prediction: Any, threshold: Threshold) -> LogMass:
    """Return log P(y > threshold) of each output of a prediction with a cdf.

    It has the digits of 1 - cdf, unless the prediction `has_all_digits`.
    """
    return _log_mass(prediction, threshold, -1.0)


def _log_mass(prediction: Any, threshold: Tensor, side: float) -> Tensor:
    if isinstance(prediction, LogNormalPredictive):
        return torch.special.log_ndtr(side * prediction.z(threshold))
    if isinstance(prediction, GaussianPredictive):
        law, parts = _of_gaussians, (prediction.means, prediction.variances)
    elif isinstance(prediction, StudentPredictive):
        law, parts = _of_students, (prediction.locations, prediction.scales, prediction.degrees)
    elif isinstance(prediction, WeightedGaussianPredictive):
        law, parts = _weighted, (prediction.weights, prediction.means, prediction.variances)
    else:
        return _of_cdf(prediction, threshold, side)
    return in_chunks(partial(law, side), *parts, threshold[None])


def _of_cdf(prediction: Any, threshold: Tensor, side: float) -> Tensor:
    cdf = prediction.cdf(threshold)
    return (cdf if side > 0 else 1 - cdf).clamp(min=0).log()


def _of_gaussians(side: float, mean: Tensor, variance: Tensor, threshold: Tensor) -> Tensor:
    return _mixed(_of_components(side, mean, variance, threshold))


def _weighted(
    side: float, weights: Tensor, mean: Tensor, variance: Tensor, threshold: Tensor
) -> Tensor:
    return _mixed(_of_components(side, mean, variance, threshold), shares(weights)[..., None])


def _mixed(logs: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return the log of the mean over draws; of masses near 1, from what they lack."""
    if weights is None:
        weights = torch.full_like(logs[:, :1, :1], 1 / len(logs))
    nearly_all = torch.log1p((weights * logs.expm1()).sum(0))
    return torch.where(nearly_all > -0.5, nearly_all, (logs + weights.log()).logsumexp(0))


def _of_components(side: float, mean: Tensor, variance: Tensor, threshold: Tensor) -> Tensor:
    error = side * (threshold.double() - mean)
    # A point mass at the threshold is below it.
    at_step = (error == 0) & (variance == 0)
    logs = torch.special.log_ndtr(error / variance.double().sqrt())
    return torch.where(at_step, 0.0 if side > 0 else -math.inf, logs)


def _of_students(
    side: float, location: Tensor, scale: Tensor, degrees: Tensor, threshold: Tensor
) -> Tensor:
    z = side * (threshold.double() - location) / scale
    degrees = degrees.double().expand_as(z)
    below = torch.from_numpy(scipy.special.stdtr(degrees.cpu().numpy(), z.cpu().numpy())).to(z)
    return _mixed(torch.where(below > 1e-300, below.log(), _beyond_doubles(-z, degrees)))


def _beyond_doubles(z: Tensor, degrees: Tensor) -> Tensor:
    r"""Return the log of $\int_z^\infty \tfrac uz f(u) du = \tfrac{\nu + z^2}{(\nu - 1) z} f(z)$.

    It is the mass of Student's t beyond z, above 38, up to a share of some 1/z².
    """
    z, half = z.clamp(min=30), (degrees + 1) / 2
    log_density = half.lgamma() - (degrees / 2).lgamma() - 0.5 * (math.pi * degrees).log()
    log_density = log_density - half * (z.square() / degrees).log1p()
    return log_density + ((degrees + z.square()) / ((degrees - 1) * z)).log()
