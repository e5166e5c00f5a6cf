"""Moments of smooth units, beside scipy's adaptive quadrature and finite differences."""

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.quadrature import swish, tanh

UNITS = {"tanh": (tanh, np.tanh), "swish": (swish, lambda x: x * expit(x))}


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
def test_moments_are_those_of_adaptive_quadrature(name, std, error):
    unit, function = UNITS[name]
    means = [-6.0, -1.0, 0.0, 0.4, 3.0]
    y = unit(Moments(*(torch.tensor(v, dtype=torch.float64) for v in (means, [std**2] * 5))))
    for place, mean in enumerate(means):
        first, second = adaptive(function, mean, std)
        assert float(y.mean[place]) == pytest.approx(first, rel=error, abs=error)
        assert float(y.variance[place]) == pytest.approx(second, rel=10 * error, abs=1e-17)


@pytest.mark.parametrize("name", UNITS)
def test_gradients_are_those_of_finite_differences(name):
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
