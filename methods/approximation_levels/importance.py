"""The exact posterior of two units, by importance sampling from the prior."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float64
from torch import Generator, Tensor

from bnnbench.methods.approximation_levels.two_units import PARAMETERS, Draws, TwoUnits, Vector
from bnnbench.methods.base import InferenceDiverged

LEAST_SAMPLE = 50_000
"""Minimum effective sample size for the posterior to count as known."""
AT_ONCE = 250_000
KEPT = 200_000
"""Number of draws that represent the posterior in predictions."""
NEGLIGIBLE = -40.0
"""The log likelihood (at most 0) below which a draw is dropped: even all dropped draws together
change moments by less than rounding."""

Weights = Float64[Tensor, " draws"]


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and covariance of a part of a posterior, and its mass."""

    mass: float
    mean: Vector
    covariance: Float64[Tensor, "7 7"]


@dataclass(frozen=True, eq=False)
class Exact:
    """The posterior of a model, estimated by weighted draws from the prior."""

    whole: Moments
    modes: tuple[Moments, ...]
    """Its parts by the order of the units and the signs of their weights, the heaviest first."""
    draws: Draws
    """Draws with equal weights."""
    sample_size: float
    """The effective number of independent draws behind the moments."""


def exact(model: TwoUnits, count: int, rng: Generator) -> Exact:
    """Return the posterior, estimated by `count` draws.

    Raises `InferenceDiverged` if the effective sample size is below 50,000.
    """
    draws, weights = _weighted(model, count, rng)
    sample_size = float(1 / weights.square().sum())
    if sample_size < LEAST_SAMPLE:
        raise InferenceDiverged(
            f"{count} prior draws have an effective sample size of {sample_size:.0f}; "
            f"needed {LEAST_SAMPLE}"
        )
    everything = torch.ones_like(weights, dtype=torch.bool)
    modes = [moments(draws, weights, part) for part in _parts(draws)]
    return Exact(
        moments(draws, weights, everything),
        tuple(sorted(modes, key=lambda mode: -mode.mass)),
        draws[_resampled(weights, rng)],
        sample_size,
    )


def moments(draws: Draws, weights: Weights, part: Bool[Tensor, " draws"]) -> Moments:
    """Return mass, mean and covariance of the weighted draws where `part` is true."""
    shares, chosen = weights[part], draws[part]
    mass = float(shares.sum())
    shares = shares / mass
    mean = shares @ chosen
    apart = chosen - mean
    return Moments(mass, mean, (apart * shares[:, None]).mT @ apart)


def _weighted(model: TwoUnits, count: int, rng: Generator) -> tuple[Draws, Weights]:
    """Return the prior draws that are not negligible, and weights that sum to 1."""
    likely, logs = [], []
    for start in range(0, count, AT_ONCE):
        size = min(AT_ONCE, count - start)
        draws = torch.randn(size, PARAMETERS, generator=rng, dtype=torch.float64, device=rng.device)
        draws = model.prior_mean + model.prior_variance.sqrt() * draws
        log_likelihood = model.log_likelihood(draws)
        counts = log_likelihood > NEGLIGIBLE
        likely.append(draws[counts])
        logs.append(log_likelihood[counts])
    return torch.cat(likely), torch.cat(logs).softmax(0)


def _parts(draws: Draws) -> Iterator[Bool[Tensor, " draws"]]:
    """Yield a mask for each order of w_1 and w_2 and each combination of signs of v_1 and v_2."""
    ordered, first, second = draws[:, 0] < draws[:, 1], draws[:, 4] > 0, draws[:, 5] > 0
    for order in (ordered, ~ordered):
        for sign in (first, ~first):
            yield from (order & sign & second, order & sign & ~second)


def _resampled(weights: Weights, rng: Generator) -> Tensor:
    """Return indices of `KEPT` draws, each in proportion to its weight, to within one."""
    start = torch.rand(1, generator=rng, dtype=weights.dtype, device=rng.device)
    points = (torch.arange(KEPT, device=rng.device) + start) / KEPT
    return torch.searchsorted(weights.cumsum(0), points).clamp_max(len(weights) - 1)
