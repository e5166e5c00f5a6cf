"""Quantiles and central intervals of any prediction of real targets."""

import math
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from bnnbench.methods.predictions.base import require
from bnnbench.methods.predictions.predictive import GaussianPredictive

MOST_STEPS = 200


def quantile(prediction: Any, level: float) -> Float64[Tensor, "points outputs"]:
    """Return the value below which a share `level` of the predictive mass lies.

    It comes from the prediction's own `quantile` if it has one, from the closed form for a single
    Gaussian, otherwise from a root of the cdf. Raises ValueError unless 0 < level < 1, and
    `CannotAnswer` for a prediction with neither `quantile` nor cdf.
    """
    if not 0 < level < 1:
        raise ValueError(f"a quantile needs a level between 0 and 1; got {level}")
    if hasattr(prediction, "quantile"):
        return prediction.quantile(level).double()
    if isinstance(prediction, GaussianPredictive) and len(prediction.means) == 1:
        z = torch.special.ndtri(torch.tensor(level, dtype=torch.float64)).item()
        return prediction.mean + z * prediction.variance.sqrt()
    require(prediction, "cdf", "mean", "variance")
    return _root_of_cdf(prediction, level)


def central_interval(
    prediction: Any, mass: float
) -> tuple[Float64[Tensor, "points outputs"], Float64[Tensor, "points outputs"]]:
    """Return the prediction's own `interval`, or the quantiles (1 - mass)/2 and (1 + mass)/2."""
    if hasattr(prediction, "interval"):
        return prediction.interval(mass)
    return quantile(prediction, (1 - mass) / 2), quantile(prediction, (1 + mass) / 2)


def _root_of_cdf(prediction: Any, level: float) -> Tensor:
    """Return the quantile by bisection, or by inverse quadratic interpolation if that is safe.

    Cantelli's inequality gives the bracket: no distribution has a quantile outside it.
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
