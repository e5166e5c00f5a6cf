"""The logistic AND of two uncertain inputs: table 1 of paper 001."""

import itertools
import math

import pytest
import torch

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.binary import logistic_bernoulli

ERROR = 0.05
SLOPE = 2 * math.log((1 - ERROR) / ERROR)
OFFSET = -1.5 * SLOPE
INPUTS = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.25, 0.25), (0.5, 0.5), (0.75, 0.75)]


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def expected(p: float, q: float) -> float:
    """Return the mean over the four outcomes of the inputs."""
    return sum(
        (p if a else 1 - p) * (q if b else 1 - q) * logistic(SLOPE * (a + b) + OFFSET)
        for a, b in itertools.product((0, 1), repeat=2)
    )


def propagated(p: float, q: float, formula: str) -> float:
    mean = torch.tensor([SLOPE * (p + q) + OFFSET], dtype=torch.float64)
    variance = torch.tensor([SLOPE**2 * (p * (1 - p) + q * (1 - q))], dtype=torch.float64)
    return float(logistic_bernoulli(Moments(mean, variance), formula).mean)


@pytest.mark.parametrize(("p", "q"), INPUTS)
def test_moments_are_nearer_to_the_expectation_than_means_alone(p, q):
    truth = expected(p, q)
    alone = logistic(SLOPE * (p + q) + OFFSET)
    for formula in ("ap2a", "ap2b"):
        if p in (0, 1):  # nothing is random: AP2b is exact, AP2a off by its own error
            assert propagated(p, q, formula) == pytest.approx(truth, abs=0.0025)
        else:
            error = abs(propagated(p, q, formula) - truth)
            assert error <= abs(alone - truth) + 1e-12
            assert error < 0.06
    if p in (0, 1):
        assert propagated(p, q, "ap2b") == pytest.approx(truth, rel=1e-12)
