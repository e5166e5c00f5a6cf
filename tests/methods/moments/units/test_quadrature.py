"""Moments of smooth units, by SciPy's adaptive quadrature and finite differences."""

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.quadrature import sigmoid, swish, tanh

UNITS = {
    "tanh": (tanh, np.tanh),
    "swish": (swish, lambda x: x * expit(x)),
    "sigmoid": (sigmoid, expit),
}


def adaptive(function, mean, std):
    def expectation(of):
        def density(z):
            return of(function(mean + std * z)) * norm.pdf(z)

        bend = [-mean / std] if abs(mean / std) < 12 else None
        return quad(density, -12, 12, points=bend, epsabs=1e-13, epsrel=1e-12, limit=500)[0]

    first = expectation(lambda f: f)
    return first, expectation(lambda f: (f - first) ** 2)


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize(("std", "error"), [(1e-3, 1e-9), (0.3, 1e-9), (1, 1e-9), (3, 2e-7)])
def test_moments_agree_with_adaptive_quadrature(name, std, error):
    unit, function = UNITS[name]
    means = [-6.0, -1.0, 0.0, 0.4, 3.0]
    y = unit(Moments(*(torch.tensor(v, dtype=torch.float64) for v in (means, [std**2] * 5))))
    for place, mean in enumerate(means):
        first, second = adaptive(function, mean, std)
        assert float(y.mean[place]) == pytest.approx(first, rel=error, abs=error)
        assert float(y.variance[place]) == pytest.approx(second, rel=10 * error, abs=1e-17)


@pytest.mark.parametrize("name", UNITS)
def test_gradients_agree_with_finite_differences(name):
    unit, _ = UNITS[name]
    mean = torch.tensor([-2.0, 0.0, 0.5, 3.0], dtype=torch.float64, requires_grad=True)
    variance = torch.tensor([0.5, 1.0, 0.01, 2.0], dtype=torch.float64, requires_grad=True)

    def moments(m, v):
        y = unit(Moments(m, v))
        return y.mean, y.variance

    torch.autograd.gradcheck(moments, (mean, variance))


@pytest.mark.parametrize("name", UNITS)
def test_without_variance_they_are_the_function_and_its_derivatives(name):
    unit, function = UNITS[name]
    mean = torch.linspace(-3, 3, 7, dtype=torch.float64).requires_grad_()
    variance = torch.zeros(7, dtype=torch.float64, requires_grad=True)
    y = unit(Moments(mean, variance))
    torch.testing.assert_close(y.mean.detach(), torch.from_numpy(function(mean.detach().numpy())))
    torch.testing.assert_close(unit(Moments(mean)).mean, y.mean)
    assert not y.variance.any()
    slope, bend = torch.autograd.grad(y.mean.sum(), (mean, variance), retain_graph=True)
    x, h = mean.detach().numpy(), 1e-4
    torch.testing.assert_close(
        slope, torch.from_numpy((function(x + h) - function(x - h)) / (2 * h)), atol=1e-7, rtol=0
    )
    second = (function(x + h) - 2 * function(x) + function(x - h)) / h**2
    torch.testing.assert_close(bend, torch.from_numpy(second / 2), atol=1e-6, rtol=0)
    (to_variance,) = torch.autograd.grad(y.variance.sum(), variance)
    torch.testing.assert_close(to_variance, slope**2)


@pytest.mark.parametrize(("dtype", "error"), [(torch.float64, 1e-10), (torch.float32, 1e-6)])
@pytest.mark.parametrize("variance", [1e-8, 0.01, 1.0, 8.9, 9.0, 9.1, 25.0, 400.0, 1e4])
def test_sigmoids_are_exact_however_wide_the_unit(variance, dtype, error):
    means = [-30.0, -5.0, -0.3, 0.0, 1.0, 4.0, 12.0, 150.0]
    y = sigmoid(Moments(*(torch.tensor(v, dtype=dtype) for v in (means, [variance] * 8))))
    for place, mean in enumerate(means):
        first, second = adaptive(expit, mean, variance**0.5)
        assert float(y.mean[place]) == pytest.approx(first, abs=error)
        assert float(y.variance[place]) == pytest.approx(second, abs=error)


@pytest.mark.parametrize("mean", [-20.0, 20.0])
def test_deviations_of_saturated_sigmoids_keep_their_digits_in_float32(mean):
    y = sigmoid(Moments(torch.tensor([mean]), torch.tensor([1.0])))
    exact = np.exp(-40) * (np.exp(2) - np.exp(1))  # lognormal, since S is exp in its tail
    assert float(y.variance) == pytest.approx(exact, rel=1e-4)


def test_gradients_of_wide_sigmoids_agree_with_finite_differences():
    mean = torch.tensor([-40.0, -2.0, 0.5, 30.0] * 2, dtype=torch.float64, requires_grad=True)
    variance = torch.tensor([9.5] * 4 + [300.0] * 4, dtype=torch.float64, requires_grad=True)

    def moments(m, v):
        y = sigmoid(Moments(m, v))
        return y.mean, y.variance

    torch.autograd.gradcheck(moments, (mean, variance))


def test_gradients_of_sigmoids_meet_where_the_two_sums_do():
    values = []
    for variance in (9.0, 9.0 + 1e-12):
        mean = torch.tensor([-7.0, -1.0, 0.0, 3.0], dtype=torch.float64, requires_grad=True)
        v = torch.full((4,), variance, dtype=torch.float64, requires_grad=True)
        y = sigmoid(Moments(mean, v))
        values.append([*torch.autograd.grad((y.mean + 0.3 * y.variance).sum(), (mean, v))])
    torch.testing.assert_close(*values, rtol=0, atol=1e-9)
