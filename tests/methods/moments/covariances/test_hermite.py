"""Expansions of unitwise functions, by quadrature in one and two dimensions."""

from math import factorial

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.covariances.hermite import (
    Expansion,
    hermite,
    logistic_unit,
    rectifier,
    smooth,
    swish_slope,
    tanh_slope,
)
from bnnbench.methods.moments.units.binary import logistic_bernoulli, logistic_transform
from bnnbench.methods.moments.units.quadrature import sigmoid
from bnnbench.methods.moments.units.rectified import leaky_relu
from bnnbench.methods.moments.units.standard import logistic_slope
from tests.methods.moments import truth

DOUBLE = torch.float64
UNITS = [(0.0, 1.0), (0.7, 0.5), (-1.2, 2.0), (2.5, 0.3), (-3.0, 1.0)]


def unit(mean, variance):
    return Moments(torch.tensor([mean], dtype=DOUBLE), torch.tensor([variance], dtype=DOUBLE))


def coefficients(expansion, x):
    return [float(expansion.slope * x.variance.sqrt()), *map(float, expansion.higher)]


def by_quadrature(function, mean, variance, order):
    """Return E[f(X) H_k(Z)] for k = 1, ..., order."""
    std = variance**0.5
    return [
        truth.expectation(
            lambda x, k=k: function(x) * np.polynomial.hermite_e.hermeval((x - mean) / std, k),
            mean,
            variance,
            [0.0],
        )
        for k in np.eye(order + 1)[1:]
    ]


def test_hermite_polynomials_agree_with_numpy():
    x = np.linspace(-3, 3, 13)
    expected = [np.polynomial.hermite_e.hermeval(x, row) for row in np.eye(6)]
    for count in (0, 1, 2, 6):
        found = hermite(torch.tensor(x), count)
        assert len(found) == count
        for mine, other in zip(found, expected, strict=False):
            np.testing.assert_allclose(mine, other, atol=1e-12)


@pytest.mark.parametrize(("mean", "variance"), UNITS)
@pytest.mark.parametrize("slope", [0.0, 0.1, 0.6])
def test_coefficients_of_rectifiers_agree_with_quadrature(slope, mean, variance):
    x = unit(mean, variance)
    found = coefficients(rectifier(x, slope, 6), x)
    expected = by_quadrature(lambda t: np.where(t > 0, t, slope * t), mean, variance, 6)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("mean", "variance"), UNITS)
@pytest.mark.parametrize(
    ("slope", "function"),
    [
        (tanh_slope, np.tanh),
        (swish_slope, lambda t: t / (1 + np.exp(-t))),
        (logistic_slope, lambda t: 1 / (1 + np.exp(-t))),
    ],
    ids=["tanh", "swish", "sigmoid"],
)
def test_coefficients_of_smooth_units_agree_with_quadrature(slope, function, mean, variance):
    x = unit(mean, variance)
    found = coefficients(smooth(slope)(x, 4), x)
    np.testing.assert_allclose(found, by_quadrature(function, mean, variance, 4), atol=2e-6)


@pytest.mark.parametrize(("mean", "variance"), UNITS)
@pytest.mark.parametrize("rule", ["ap2b", "ap2a"])
def test_coefficients_of_logistic_units_are_derivatives_of_their_mean(rule, mean, variance):
    x = unit(mean, variance)
    found = coefficients(logistic_unit(x, 4, rule), x)
    spread = mpmath.pi**2 / 3

    def expectation(m):
        if rule == "ap2b":
            return 1 / (1 + mpmath.exp(-m / mpmath.sqrt(variance / spread + 1)))
        return mpmath.ncdf(m / mpmath.sqrt(variance + spread))

    with mpmath.workdps(40):
        expected = [
            float(variance ** (k / 2) * mpmath.diff(expectation, mean, k)) for k in range(1, 5)
        ]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert float(logistic_bernoulli(x, rule).mean) == pytest.approx(float(expectation(mean)))


def covariance_by_quadrature(f, g, x, y, correlation):
    z = np.linspace(-7, 7, 1201)
    first, second = z[:, None], z
    density = np.exp(-(first**2) / 2 - second**2 / 2) * (z[1] - z[0]) ** 2 / (2 * np.pi)
    other = correlation * first + (1 - correlation**2) ** 0.5 * second
    one = f(x[0] + x[1] ** 0.5 * first)
    two = g(y[0] + y[1] ** 0.5 * other)
    return float((density * one * two).sum() - (density * one).sum() * (density * two).sum())


@pytest.mark.parametrize("correlation", [0.9, 0.5, -0.6])
@pytest.mark.parametrize(("x", "y"), [((0.3, 1.0), (-0.5, 2.0)), ((1.0, 0.5), (0.0, 1.5))])
def test_sums_of_the_expansion_tend_to_the_covariance_of_two_rectified_units(x, y, correlation):
    def expanded(order):
        one, two = (
            coefficients(rectifier(unit(*z), slope, order), unit(*z))
            for z, slope in ((x, 0.0), (y, 0.1))
        )
        return sum(
            correlation**k * c * d / factorial(k)
            for k, (c, d) in enumerate(zip(one, two, strict=True), 1)
        )

    exact = covariance_by_quadrature(
        lambda t: np.maximum(t, 0), lambda t: np.where(t > 0, t, 0.1 * t), x, y, correlation
    )
    errors = [abs(expanded(order) - exact) for order in (1, 2, 16)]
    assert errors[2] < 2e-3 * abs(exact)
    assert errors[1] < errors[0] / 2
    assert errors[0] < 0.2 * abs(exact)


@given(
    st.floats(-50, 50),
    st.floats(0, 1e4),
    st.sampled_from(["relu", "bit", "sigmoid", "sigmoid of the paper"]),
    st.integers(1, 5),
)
def test_no_more_is_explained_than_varies(mean, variance, name, order):
    x = unit(mean, variance)
    x.mean.requires_grad_()
    after, expansion = {
        "relu": lambda: (leaky_relu(x, 0.1), rectifier(x, 0.1, order)),
        "bit": lambda: (logistic_bernoulli(x), logistic_unit(x, order)),
        "sigmoid": lambda: (sigmoid(x), smooth(logistic_slope)(x, order)),
        "sigmoid of the paper": lambda: (logistic_transform(x), logistic_unit(x, order)),
    }[name]()
    expansion = expansion.within(x.variance, after.variance)
    terms = [float(c.detach()) for c in (expansion.slope * x.variance.sqrt(), *expansion.higher)]
    explained = sum(c**2 / factorial(k) for k, c in enumerate(terms, 1))
    assert 0 <= explained <= float(after.variance.detach()) * (1 + 1e-9) + 1e-30
    torch.stack([expansion.slope, *expansion.higher]).sum().backward()
    assert x.mean.grad.isfinite().all()


def test_coefficients_that_explain_less_are_left_alone():
    one, two = torch.tensor([0.5, 2.0]), torch.tensor([0.1, 3.0])
    within = Expansion(one, [two]).within(torch.ones(2), torch.ones(2))
    assert within.slope[0] == 0.5
    assert within.higher[0][0] == two[0]
    assert within.slope[1] ** 2 + within.higher[0][1] ** 2 / 2 == pytest.approx(1, rel=1e-6)
