"""Moments of units between 0 and 1, by quadrature, Owen's function and finite differences."""

from collections.abc import Callable
from math import pi

import mpmath
import pytest
import torch
from scipy.special import expit, ndtr, owens_t

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.binary import (
    heaviside,
    logistic_bernoulli,
    logistic_transform,
    normal_cdf,
    probit_unit,
)
from bnnbench.methods.moments.units.standard import logistic, logistic_slope
from tests.methods.moments import truth

CASES = [(0.0, 1.0), (0.3, 0.04), (-1.7, 0.6), (4.0, 9.0), (-6.0, 1.0), (2.5, 100.0)]
EACH = pytest.mark.parametrize(("mean", "variance"), CASES)


def normal(mean: float, variance: float) -> Moments:
    return Moments(*(torch.tensor([t], dtype=torch.float64) for t in (mean, variance)))


@EACH
def test_heaviside_is_positive_as_often_as_its_law(mean, variance):
    found = heaviside(normal(mean, variance))
    chance = ndtr(mean / variance**0.5)
    assert found.mean.item() == pytest.approx(chance, rel=1e-13)
    assert found.variance.item() == pytest.approx(chance * (1 - chance), rel=1e-7)
    chance = expit(mean * (pi**2 / 3 / variance) ** 0.5)
    assert heaviside(normal(mean, variance), "logistic").mean.item() == pytest.approx(chance)


def test_heaviside_of_a_known_unit_is_the_step_with_0_at_1():
    mean = torch.tensor([-1.0, 0.0, 2.0])
    for x in (Moments(mean), Moments(mean, torch.zeros(3))):
        for law in ("normal", "logistic"):
            assert heaviside(x, law).mean.tolist() == [0.0, 1.0, 1.0]
    assert heaviside(Moments(mean)).variance is None
    assert heaviside(Moments(mean, torch.zeros(3))).variance.tolist() == [0.0, 0.0, 0.0]


ERRORS = {
    0.5: (0.0193, 0.0034),
    1.0: (0.0130, 0.0098),
    2.0: (0.0046, 0.0181),
    5.0: (0.0003, 0.0223),
}
"""Standard deviation -> largest errors of AP2a and AP2b over all means."""


@pytest.mark.parametrize("std", ERRORS)
def test_largest_errors_of_both_means_of_a_logistic_unit(std):
    mean = torch.linspace(-12, 12, 241, dtype=torch.float64)
    x = Moments(mean, torch.full_like(mean, std**2))
    exact = torch.tensor([truth.expectation(expit, m, std**2) for m in mean.tolist()])
    for rule, error in zip(("ap2a", "ap2b"), ERRORS[std], strict=True):
        found = logistic_bernoulli(x, rule).mean
        assert (found - exact).abs().max().item() == pytest.approx(error, abs=6e-5)


def test_variance_of_the_logistic_transform_is_within_14_percent_at_mean_0():
    for std in (0.1, 0.5, 1.0, 2.0, 5.0, 30.0):
        found = logistic_transform(normal(0.0, std**2)).variance
        _, exact = truth.moments(expit, 0.0, std**2)
        assert (found.item() / exact) ** 0.5 == pytest.approx(1, abs=0.134)


@EACH
def test_probit_units_are_exact(mean, variance):
    chance, spread = truth.moments(ndtr, mean, variance)
    x = normal(mean, variance)
    assert probit_unit(x).mean.item() == pytest.approx(chance, rel=1e-12)
    assert probit_unit(x).variance.item() == pytest.approx(chance * (1 - chance), rel=1e-7)
    assert normal_cdf(x).mean.item() == pytest.approx(chance, rel=1e-12)
    assert normal_cdf(x).variance.item() == pytest.approx(spread, rel=1e-10)


@EACH
def test_variance_of_the_normal_distribution_function_follows_owen(mean, variance):
    h = mean / (1 + variance) ** 0.5
    expected = ndtr(h) - 2 * owens_t(h, (1 + 2 * variance) ** -0.5) - ndtr(h) ** 2
    assert normal_cdf(normal(mean, variance)).variance.item() == pytest.approx(expected, abs=1e-15)


def test_logistic_function_is_right_in_both_tails():
    z = [-700.0, -40.0, -1.0, 0.0, 1e-3, 2.0, 40.0, 700.0]
    t = torch.tensor(z, dtype=torch.float64)
    with mpmath.workdps(340):
        for k, x in enumerate(z):
            s = 1 / (1 + mpmath.exp(-x))
            assert logistic(t)[k].item() == pytest.approx(float(s), rel=1e-15)
            assert logistic_slope(t)[k].item() == pytest.approx(float(s * (1 - s)), rel=1e-15)


FUNCTIONS: dict[str, Callable[[Moments], Moments]] = {
    "heaviside": heaviside,
    "heaviside, logistic": lambda x: heaviside(x, "logistic"),
    "ap2a": lambda x: logistic_bernoulli(x, "ap2a"),
    "ap2b": logistic_bernoulli,
    "transform": logistic_transform,
    "transform, wide": lambda x: logistic_transform(x, "wide"),
    "probit": probit_unit,
    "normal cdf": normal_cdf,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_agree_with_finite_differences(name):
    mean = torch.linspace(-3, 3, 13, dtype=torch.float64).repeat(3).requires_grad_()
    variance = torch.tensor([0.3, 1, 7], dtype=torch.float64).repeat_interleave(13)

    def both(m, v):
        out = FUNCTIONS[name](Moments(m, v))
        return out.mean, out.variance

    given = (mean, variance.requires_grad_())
    assert torch.autograd.gradcheck(both, given, eps=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["transform", "transform, wide", "normal cdf"])
def test_variance_0_is_the_deterministic_function(name):
    mean = torch.linspace(-9, 9, 31, dtype=torch.float64)
    found = FUNCTIONS[name](Moments(mean, torch.zeros_like(mean)))
    exact = ndtr(mean.numpy()) if name == "normal cdf" else expit(mean.numpy())
    torch.testing.assert_close(found.mean, torch.as_tensor(exact), rtol=1e-13, atol=0)
    assert not found.variance.any()
    alone = FUNCTIONS[name](Moments(mean))
    assert alone.mean.equal(found.mean)
    assert alone.variance is None


@pytest.mark.parametrize("name", ["ap2a", "ap2b", "probit"])
def test_random_bits_vary_even_where_their_input_is_known(name):
    mean = torch.linspace(-3, 3, 7)
    alone, zero = (FUNCTIONS[name](Moments(mean, v)) for v in (None, torch.zeros(7)))
    assert alone.mean.equal(zero.mean)
    assert alone.variance is not None
    torch.testing.assert_close(alone.variance, alone.mean * (1 - alone.mean), rtol=1e-4, atol=0)
