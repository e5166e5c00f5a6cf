"""The cost of averaging a likelihood over a box, exactly and by Monte Carlo."""

import math
import time
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from bnnbench.methods.integration.integrals import with_noise
from bnnbench.methods.integration.region import Affine, Box
from bnnbench.methods.integration.sums import SumOfUniforms
from tests.methods.problems import stream

POINTS, SAMPLES = 1000, 30
LIMITS = {3: 0.1, 50: 1.0}
"""Seconds for all points and samples, by the number of collapsed weights."""
DRAWS = 200
ACCURACY = 1e-3
"""Relative to the peak: Monte Carlo's tolerance. The exact algorithm has some 1e-12."""


@pytest.mark.parametrize("weights", LIMITS)
def test_densities_of_a_last_layer(weights, benchmark):
    marginal, function, box, half_base, y = last_layer(weights)
    density = marginal.density(y)
    exact = seconds(lambda: marginal.density(y))
    rounds = 3
    benchmark.pedantic(lambda: marginal.density(y), rounds=rounds)
    peak = marginal.density(marginal.centre)
    estimate, sampling = timed(lambda: monte_carlo(function, box, half_base, y))
    error = float(((estimate - density) / peak).square().mean().sqrt())
    # The error falls as the root of the number of draws, which cost the same.
    equal = sampling * (error / ACCURACY) ** 2
    benchmark.extra_info |= {
        "seconds_exact": exact,
        "monte_carlo_draws": DRAWS,
        "monte_carlo_error_of_peak": error,
        "seconds_monte_carlo": sampling,
        f"seconds_monte_carlo_for_{ACCURACY:g}": equal,
        "seconds_monte_carlo_for_1e-08": equal * (ACCURACY / 1e-8) ** 2,
    }
    assert exact < LIMITS[weights]
    assert equal > exact


def last_layer(weights: int) -> tuple[SumOfUniforms, Affine, Box, Tensor, Tensor]:
    """Return likelihoods of a network with a bias: half of its hidden units are off."""
    rng = stream(0)
    hidden = torch.randn(SAMPLES, POINTS, weights, generator=rng).clamp(min=0)
    hidden[..., -1] = 1
    lower = torch.randn(weights, generator=rng) / math.sqrt(weights)
    box = Box(lower, lower + 0.3 * torch.rand(weights, generator=rng))
    function = Affine(torch.zeros(SAMPLES, POINTS), hidden)
    half_base = 2.45 * (0.1 + 0.4 * torch.rand(SAMPLES, POINTS, generator=rng))
    marginal = with_noise(function, box, half_base)
    noise = torch.randn(SAMPLES, POINTS, generator=rng) * marginal.variance.sqrt()
    return marginal, function, box, half_base, marginal.centre + noise


def monte_carlo(function: Affine, box: Box, half_base: Tensor, y: Tensor) -> Tensor:
    """Return the mean of the triangular likelihood over draws from the box."""
    total = torch.zeros_like(y)
    uniforms = torch.rand(DRAWS, box.lower.shape[-1], generator=stream(1))
    draws = box.lower + uniforms * box.widths.float()
    for value in (function.slopes @ draws.T).unbind(-1):
        distance = (y - value).abs()
        total += (1 / half_base - distance / half_base**2).clamp(min=0)
    return total / DRAWS


def timed(work: Callable[[], Tensor]) -> tuple[Tensor, float]:
    """Return the result and the processor time."""
    start = time.thread_time()
    result = work()
    return result, time.thread_time() - start


def seconds(work: Callable[[], Tensor]) -> float:
    """Return the minimum processor time of some runs."""
    return min(timed(work)[1] for _ in range(5))
