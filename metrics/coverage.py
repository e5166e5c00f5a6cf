"""Coverage and width of predictive intervals of real targets."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import HasCdf, HasVariance
from bnnbench.methods.predictions.inversion import central_interval, quantile
from bnnbench.metrics.sets import score_of_ends
from bnnbench.metrics.support import is_possible

TINY = 1e-300
CALIBRATION_LEVELS = torch.arange(11, dtype=torch.float64) / 10


def absolute_error_of_median(
    prediction: Any, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, " points"]:
    """Return the distance between predictive median and target, averaged over outputs."""
    return (quantile(prediction, 0.5) - target.double()).abs().mean(1)


def interval_coverage(
    prediction: Any, target: Float[Tensor, "points outputs"], mass: float
) -> Float64[Tensor, " points"]:
    """Return 1 if the central interval, ends included, contains the target, else 0 (PICP)."""
    low, high = central_interval(prediction, mass)
    target = target.double()
    return ((low <= target) & (target <= high)).double().mean(1)


def interval_width(prediction: Any, mass: float) -> Float64[Tensor, " points"]:
    """Return the width of the central interval, averaged over outputs (MPIW)."""
    low, high = central_interval(prediction, mass)
    return (high - low).mean(1)


def central_interval_score(
    prediction: Any, target: Float[Tensor, "points outputs"], mass: float
) -> Float64[Tensor, " points"]:
    r"""Return the width of the central interval plus a penalty for targets outside it.

    $$ (u - l) + \tfrac2\alpha \max(l - y, 0) + \tfrac2\alpha \max(y - u, 0) $$

    l and u are the predictive quantiles at α/2 and 1 - α/2, and 1 - α is the mass. In target units,
    averaged over outputs. Raises `CannotAnswer` for a prediction without these quantiles. Source:
    Gneiting and Raftery (2007), "Strictly proper scoring rules, prediction, and estimation", eq.
    43.
    """
    return score_of_ends(*central_interval(prediction, mass), target, mass)


@dataclass(frozen=True)
class CalibrationCurve:
    """The share of targets below each predictive quantile, with the quantile's level."""

    level: Float64[Tensor, " levels"]
    observed: Float64[Tensor, " levels"]


def calibration_curve(
    prediction: HasCdf, target: Float[Tensor, "points outputs"]
) -> CalibrationCurve:
    """Return the share of targets with a cdf of at most 0, 0.1, ..., 1.

    A cdf that is 0 only by rounding, where the density is not 0 or not known, is above 0.
    Source: Kuleshov, Fenner and Ermon (2018), "Accurate uncertainties for deep learning
    using calibrated regression".
    """
    reached = prediction.cdf(target.double())
    if (reached == 0).any():
        rounded = (reached == 0) & is_possible(prediction, target)
        reached = torch.where(rounded, TINY, reached)
    reached = reached.flatten()
    levels = CALIBRATION_LEVELS.to(reached.device)
    observed = torch.stack([(reached <= level).double().mean() for level in levels])
    return CalibrationCurve(levels, observed.where(~reached.isnan().any(), torch.nan))


def calibration_error(
    prediction: HasCdf, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, ""]:
    """Return the curve's squared distance from the diagonal, summed over the levels."""
    curve = calibration_curve(prediction, target)
    return (curve.observed - curve.level).square().sum()


def mean_absolute_calibration_error(
    prediction: HasCdf, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, ""]:
    """Return the curve's mean distance from the diagonal at the levels 0.1, ..., 0.9."""
    curve = calibration_curve(prediction, target)
    return (curve.observed - curve.level)[1:-1].abs().mean()


def sharpness(prediction: HasVariance) -> Float64[Tensor, " points"]:
    """Return the predictive variance, averaged over outputs."""
    return prediction.variance.double().mean(1)


def root_sharpness(prediction: HasVariance) -> Float64[Tensor, ""]:
    """Return the square root of the mean predictive variance."""
    return sharpness(prediction).mean().sqrt()
