"""Quantiles and central intervals of any prediction of real targets."""

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float64
from torch import Tensor

from bnnbench.methods.predictions.base import require
from bnnbench.methods.predictions.predictive import GaussianPredictive

MOST_STEPS = 200
SAME_LEVEL = 1e-9
"""Difference of the cdf between the ends of a bracket below which it has converged."""

Cdf = Callable[[Tensor], Tensor]


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
    require(prediction, "cdf", "mean")
    return root_of_cdf(prediction.cdf, level, *centre_and_scale(prediction, prediction.mean))


def central_interval(
    prediction: Any, mass: float
) -> tuple[Float64[Tensor, "points outputs"], Float64[Tensor, "points outputs"]]:
    """Return the prediction's own `interval`, or the quantiles (1 - mass)/2 and (1 + mass)/2."""
    if hasattr(prediction, "interval"):
        return prediction.interval(mass)
    return quantile(prediction, (1 - mass) / 2), quantile(prediction, (1 + mass) / 2)


def centre_and_scale(
    prediction: Any, near: Tensor
) -> tuple[Float64[Tensor, "points outputs"], Float64[Tensor, "points outputs"]]:
    """Return mean and standard deviation where they are finite.

    Otherwise the centre is `near`, or 0, and the scale the distance from it that holds half the
    mass, up to a factor of `GROWTH`.
    """
    mean = getattr(prediction, "mean", near).double()
    centre = torch.where(mean.isfinite(), mean, near.double().nan_to_num(0.0, 0.0, 0.0))
    std = getattr(prediction, "variance", torch.full_like(centre, math.inf)).double().sqrt()
    if std.isfinite().all():
        return centre, std
    guess = torch.where(std.isfinite(), std, centre.abs().clamp(min=1.0))
    return centre, torch.where(std.isfinite(), std, half_mass(prediction.cdf, centre, guess))


GROWTH = 4.0


def half_mass(
    cdf: Cdf,
    centre: Float64[Tensor, "points outputs"],
    guess: Float64[Tensor, "points outputs"],
    share: float = 0.5,
) -> Float64[Tensor, "points outputs"]:
    """Return a distance from the centre that holds half the mass, or another share.

    It is at most `GROWTH` times too long, and at least the distance between numbers near the
    centre.
    """
    least = 4e-16 * centre.abs() + 1e-300
    distance = torch.maximum(guess, least)

    def holds(distance: Tensor) -> Tensor:
        return cdf(centre + distance) - cdf(centre - distance) >= share

    for number in range(1, MOST_STEPS):
        small = ~holds(distance)
        if not small.any():
            break
        distance = torch.where(small, distance * GROWTH**number, distance)
    shorter, low = distance / GROWTH, least
    for _ in range(MOST_STEPS):
        large = holds(shorter)
        low, distance = torch.where(large, low, shorter), torch.where(large, shorter, distance)
        if (distance <= GROWTH * low).all():
            break
        shorter = (low * distance).sqrt().maximum(distance / 1e9)
    return distance


def root_of_cdf(
    cdf: Cdf,
    level: float | Float64[Tensor, "points outputs"],
    centre: Float64[Tensor, "points outputs"],
    scale: Float64[Tensor, "points outputs"],
) -> Float64[Tensor, "points outputs"]:
    """Return the quantile by bisection, or by inverse quadratic interpolation if that is safe.

    `level` is one for all points and outputs, or one for each.

    For a mean and a standard deviation, Cantelli's inequality gives the bracket; where the cdf
    contradicts it, the bracket grows. NaN where the cdf is.
    Source: Chandrupatla (1997), "A new hybrid quadratic/bisection algorithm".
    """
    level = torch.as_tensor(level, dtype=torch.float64, device=centre.device).expand_as(centre)
    below, above = ((1 - level) / level).sqrt(), (level / (1 - level)).sqrt()
    newest = _moved_out(centre, -1.01 * scale * below, lambda x: cdf(x) > level)
    other = _moved_out(centre, 1.01 * scale * above, lambda x: cdf(x) < level)
    excess, other_excess = -level, 1 - level
    share = torch.full_like(centre, 0.5)
    for _ in range(MOST_STEPS):
        middle = newest + share * (other - newest)
        middle_excess = cdf(middle) - level
        same_side = (middle_excess >= 0) == (excess >= 0)
        last, last_excess = _selected(same_side, (newest, excess), (other, other_excess))
        other, other_excess = _selected(same_side, (other, other_excess), (newest, excess))
        newest, excess = middle, middle_excess
        width = (other - newest).abs()
        rounding = 4e-16 * newest.abs() + 1e-300
        resolution = 1e-12 * scale + rounding
        is_steep = (width <= resolution) & ((other_excess - excess).abs() > SAME_LEVEL)
        resolution = torch.where(is_steep, rounding, resolution)
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
    return torch.where(excess >= 0, newest, other).where(~excess.isnan(), torch.nan)


def _moved_out(centre: Tensor, step: Tensor, falls_short: Callable[[Tensor], Tensor]) -> Tensor:
    """Return centre + step, with steps that grow faster and faster until none falls short."""
    for number in range(1, MOST_STEPS):
        short = falls_short(centre + step) & (step != 0) & step.isfinite()
        if not short.any():
            break
        step = torch.where(short, step * 2.0**number, step)
    return centre + step


def _selected(
    condition: Tensor, yes: tuple[Tensor, Tensor], no: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor]:
    return torch.where(condition, yes[0], no[0]), torch.where(condition, yes[1], no[1])
