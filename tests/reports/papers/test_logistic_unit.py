"""Divergences of a logistic unit, by integration, for known approximations and by the claims."""

from math import log2

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scipy.stats import logistic

from bnnbench.reports.papers.logistic_unit import APPROXIMATIONS, WEIGHTS, LogisticUnit

BIASES = np.array([-30.0, -8.0, -2.5, 0.0, 3.0])


def bits(p: float, q: float) -> float:
    return p * log2(p / q) + (1 - p) * log2((1 - p) / (1 - q))


def test_the_truth_is_the_probability_that_the_sum_exceeds_logistic_noise():
    """A convolution of densities, as the paper computes it, sampled here."""
    rng = np.random.default_rng(3)
    inputs = rng.integers(0, 2, (400_000, 3)) @ WEIGHTS[:3]
    noise = logistic.rvs(size=400_000, random_state=rng)
    for bias, values in zip(BIASES, LogisticUnit(3, BIASES).activations, strict=True):
        exact = expit(values).mean()
        error = (exact * (1 - exact) / 400_000) ** 0.5
        assert abs((inputs + bias > noise).mean() - exact) < 5 * error + 1e-12


@pytest.mark.parametrize("inputs", [1, 3])
def test_divergences_are_those_of_two_bits(inputs):
    unit = LogisticUnit(inputs, BIASES[1:])
    weights = WEIGHTS[:inputs]
    mean, variance = BIASES[1:] + weights.sum() / 2, (weights**2).sum() / 4
    propagated = {
        "AP1": expit(mean),
        "AP2a": ndtr(mean / (variance + np.pi**2 / 3) ** 0.5),
        "AP2b": expit(mean / (variance / (np.pi**2 / 3) + 1) ** 0.5),
    }
    exact = expit(unit.activations).mean(1)
    for name, estimate in propagated.items():
        expected = [bits(p, q) for p, q in zip(exact, estimate, strict=True)]
        assert unit.divergence(name) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_a_known_unit_is_approximated_exactly():
    known = LogisticUnit(0, BIASES)
    for name in ("AP1", "AP2b"):
        assert known.divergence(name) == pytest.approx(0, abs=1e-14)
    assert known.sampled_divergences() == pytest.approx(0, abs=1e-14)


def test_the_claims_of_the_figure_hold():
    """AP1 is an order of magnitude worse; the others do about as well as 50 samples."""
    biases = np.linspace(-40, 10, 101)
    for inputs in (2, 3, 4, 5):
        unit = LogisticUnit(inputs, biases)
        largest = {name: unit.divergence(name).max() for name in APPROXIMATIONS}
        of_trials = np.quantile(unit.sampled_divergences(), 0.95, axis=0).max()
        others = [largest[name] for name in ("PEA", "AP2a", "AP2b")]
        assert largest["AP1"] > 10 * max(others)
        assert max(others) < of_trials
