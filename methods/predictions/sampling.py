"""Samples of the targets of a predictive distribution."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float64, Int
from torch import Tensor

from bnnbench.methods.predictions.base import HasProbabilities, require
from bnnbench.methods.predictions.inversion import centre_and_scale, root_of_cdf
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.methods.predictions.samples import SamplePredictive
from bnnbench.methods.predictions.student import StudentPredictive
from bnnbench.methods.predictions.weighted import WeightedGaussianPredictive, shares


def sampled(
    prediction: Any, count: int, rng: torch.Generator
) -> Float64[Tensor, "samples points outputs"] | Int[Tensor, "samples points"]:
    """Return independent samples of all targets, real numbers or class numbers.

    In a mixture of draws, a sample has one draw for all points, so that it is a sample of the joint
    distribution if a draw is one function. Of other predictions, every point is sampled apart.
    Raises ValueError unless `count` is positive, and `CannotAnswer` for a prediction with neither
    draws nor quantiles.
    """
    if count < 1:
        raise ValueError(f"needed at least one sample; got {count}")
    if isinstance(prediction, CategoricalPredictive):
        return _classes(_drawn(prediction.log_probs, count, rng).exp(), rng)
    if isinstance(prediction, HasProbabilities):
        return _classes(prediction.mixture_log_probs.exp().expand(count, -1, -1), rng)
    if isinstance(prediction, SamplePredictive):
        return _drawn(prediction.samples, count, rng)
    if isinstance(prediction, GaussianPredictive):
        means, variances = _drawn_together(prediction.means, prediction.variances, count, rng)
        return means + variances.sqrt() * torch.randn(means.shape, generator=rng).to(means)
    if isinstance(prediction, StudentPredictive):
        return _of_student(prediction, count, rng)
    if isinstance(prediction, WeightedGaussianPredictive):
        return _of_weighted(prediction, count, rng)
    return _by_quantiles(prediction, count, rng)


def _classes(probs: Tensor, rng: torch.Generator) -> Tensor:
    """Return a class number for each row of the last axis."""
    flat = probs.flatten(0, 1).double().cpu()
    return torch.multinomial(flat, 1, generator=rng).view(probs.shape[:2]).to(probs.device)


def _drawn(values: Tensor, count: int, rng: torch.Generator) -> Tensor:
    return _drawn_together(values, values, count, rng)[0]


def _drawn_together(
    one: Tensor, other: Tensor, count: int, rng: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return `count` entries of the first axis, the same of both tensors, in double precision."""
    places = torch.randint(len(one), (count,), generator=rng).to(one.device)
    return one[places].double(), other[places].double()


def _of_student(prediction: StudentPredictive, count: int, rng: torch.Generator) -> Tensor:
    """Return location + scale z / √(g / degrees), where g has degrees degrees of freedom."""
    seed = int(torch.randint(2**31, (), generator=rng))
    locations, scales, degrees = (
        _drawn(values, count, torch.Generator().manual_seed(seed))
        for values in (prediction.locations, prediction.scales, prediction.degrees)
    )
    chi2 = torch.from_numpy(np.random.default_rng(seed).chisquare(degrees.cpu().numpy()))
    z = torch.randn(locations.shape, generator=rng).to(locations)
    return locations + scales * z / (chi2.to(degrees) / degrees).sqrt()


def _of_weighted(
    prediction: WeightedGaussianPredictive, count: int, rng: torch.Generator
) -> Tensor:
    """Return samples of components that are drawn apart for every sample and point."""
    weights = shares(prediction.weights).T.cpu()
    drawn = torch.multinomial(weights, count, replacement=True, generator=rng).T
    places = drawn[..., None].expand(-1, -1, prediction.means.shape[2]).to(prediction.means.device)
    means, variances = (
        part.double().gather(0, places) for part in (prediction.means, prediction.variances)
    )
    return means + variances.sqrt() * torch.randn(means.shape, generator=rng).to(means)


def _by_quantiles(prediction: Any, count: int, rng: torch.Generator) -> Tensor:
    """Return quantiles at levels drawn apart for every sample, point and output."""
    require(prediction, "cdf", "mean")
    centre, scale = centre_and_scale(prediction, prediction.mean)
    levels = torch.rand(count, *centre.shape, generator=rng, dtype=torch.float64)
    levels = levels.clamp(1e-12, 1 - 1e-12).to(centre.device)
    return torch.stack([root_of_cdf(prediction.cdf, level, centre, scale) for level in levels])
