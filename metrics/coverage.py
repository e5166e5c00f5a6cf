"""Coverage and width of predictive intervals of real targets."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import HasCdf, HasVariance, require
from bnnbench.methods.predictions.predictive import GaussianPredictive

MOST_STEPS = 200
CALIBRATION_LEVELS = torch.arange(11, dtype=torch.float64) / 10


def quantile(prediction: Any, level: float) -> Float64[Tensor, "points outputs"]:
    """Return the value below which a share `level` of the predictive mass lies.

    By the prediction's own `quantile` where it has one, in closed form for a single Gaussian,
    otherwise a root of the cdf. Raises ValueError unless 0 < level < 1, and `CannotAnswer` for a
    prediction with neither.
    """
    if not 0 < level < 1:
        raise ValueError(f"a quantile needs a level between 0 and 1, not {level}")
    if hasattr(prediction, "quantile"):
        return prediction.quantile(level).double()
    if isinstance(prediction, GaussianPredictive) and len(prediction.means) == 1:
        z = torch.special.ndtri(torch.tensor(level, dtype=torch.float64)).item()
        return prediction.mean + z * prediction.variance.sqrt()
    require(prediction, "cdf", "mean", "variance")
    return _root_of_cdf(prediction, level)


def _root_of_cdf(prediction: Any, level: float) -> Tensor:
    """Return the quantile by bisection, or by inverse quadratic interpolation where it is safe.

    Cantelli's inequality gives the bracket: no distribution has a quantile outside.
    Source: Chandrupatla (1997), "A new hybrid quadratic/bisection algorithm".
    """
    mean, std = prediction.mean.double(), prediction.variance.double().sqrt()
    newest = mean - 1.01 * std * math.sqrt((1 - level) / level)
    other = mean + 1.01 * std * math.sqrt(level / (1 - level))
    excess, other_excess = torch.full_like(mean, -level), torch.full_like(mean, 1 - level)
    share = torch.full_like(mean, 0.5)
    for _ in range(MOST_STEPS):
        middle = newest + share * (other - newest)
        middle_excess = prediction.cdf(middle) - level
        same_side = (middle_excess >= 0) == (excess >= 0)
        last, last_excess = _selected(same_side, (newest, excess), (other, other_excess))
        other, other_excess = _selected(same_side, (other, other_excess), (newest, excess))
        newest, excess = middle, middle_excess
        width = (other - newest).abs()
        resolution = 1e-12 * std + 4e-16 * newest.abs() + 1e-300
        if not ((width > resolution) & (excess != 0)).any():
            break
        xi = (newest - other) / (last - other)
        phi = (excess - other_excess) / (last_excess - other_excess)
        safe = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
        to_other, to_last = excess / (other_excess - excess), excess / (last_excess - excess)
        quadratic = to_other * last_excess / (other_excess - last_excess) + (
            (last - newest) / (other - newest) * to_last * other_excess
        ) / (last_excess - other_excess)
        least = 0.5 * resolution / torch.maximum(width, resolution)
        share = torch.where(safe, quadratic, 0.5).clamp(least, 1 - least)
    return torch.where(excess >= 0, newest, other)


def _selected(
    condition: Tensor, yes: tuple[Tensor, Tensor], no: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor]:
    return torch.where(condition, yes[0], no[0]), torch.where(condition, yes[1], no[1])


def absolute_error_of_median(
    prediction: Any, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, " points"]:
    """Return the distance between predictive median and target, averaged over outputs."""
    return (quantile(prediction, 0.5) - target.double()).abs().mean(1)


def central_interval(
    prediction: Any, mass: float
) -> tuple[Float64[Tensor, "points outputs"], Float64[Tensor, "points outputs"]]:
    """Return the prediction's own `interval`, or the quantiles (1 - mass)/2 and (1 + mass)/2."""
    if hasattr(prediction, "interval"):
        return prediction.interval(mass)
    return quantile(prediction, (1 - mass) / 2), quantile(prediction, (1 + mass) / 2)


def interval_coverage(
    prediction: Any, target: Float[Tensor, "points outputs"], mass: float
) -> Float64[Tensor, " points"]:
    """Return 1 where the central interval contains the target, its ends included (PICP)."""
    low, high = central_interval(prediction, mass)
    target = target.double()
    return ((low <= target) & (target <= high)).double().mean(1)


def interval_width(prediction: Any, mass: float) -> Float64[Tensor, " points"]:
    """Return the width of the central interval, averaged over outputs (MPIW)."""
    low, high = central_interval(prediction, mass)
    return (high - low).mean(1)


@dataclass(frozen=True)
class CalibrationCurve:
    """The share of targets below each predictive quantile, with the quantile's level."""

    level: Float64[Tensor, " levels"]
    observed: Float64[Tensor, " levels"]


def calibration_curve(
    prediction: HasCdf, target: Float[Tensor, "points outputs"]
) -> CalibrationCurve:
    """Return the share of targets whose cdf is at most 0, 0.1, ..., 1.

    Source: Kuleshov, Fenner and Ermon (2018), "Accurate uncertainties for deep learning
    using calibrated regression".
    """
    reached = prediction.cdf(target.double()).flatten()
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
    """Return the root of the mean predictive variance."""
    return sharpness(prediction).mean().sqrt()
