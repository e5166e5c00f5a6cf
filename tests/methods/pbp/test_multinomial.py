"""Class probabilities of Gaussian logits, by sampling, quadrature and finite differences."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm

from bnnbench.methods.pbp import multinomial
from bnnbench.methods.pbp.kernels import classes as pbp_classes

NOISE = 4 / math.pi


def logits(classes: int, points: int = 6, seed: int = 0, scale: float = 2.0):
    rng = torch.Generator().manual_seed(seed)
    mean = scale * torch.randn(points, classes, generator=rng, dtype=torch.float64)
    variance = 0.05 + 2 * torch.rand(points, classes, generator=rng, dtype=torch.float64)
    return mean, variance


@pytest.mark.parametrize("classes", [2, 3, 10, 40])
def test_the_probabilities_of_all_classes_sum_to_one(classes):
    log_z = multinomial.log_probabilities(*logits(classes))
    tolerance = {2: 1e-12, 3: 1e-6, 10: 3e-5, 40: 1e-3}[classes]
    np.testing.assert_allclose(log_z.exp().sum(1), 1, atol=tolerance)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_they_are_how_often_a_noisy_logit_is_the_largest(classes):
    mean, variance = logits(classes, points=3)
    draws = 400_000
    rng = torch.Generator().manual_seed(1)
    for m, v, log_z in zip(
        mean, variance, multinomial.log_probabilities(mean, variance), strict=True
    ):
        noise = torch.randn(draws, classes, generator=rng, dtype=torch.float64)
        label = (m + (v + NOISE).sqrt() * noise).argmax(1)
        frequency = torch.bincount(label, minlength=classes) / draws
        error = 5 * (frequency * (1 - frequency) / draws).sqrt() + 1e-4
        assert ((log_z.exp() - frequency).abs() < error).all()


@pytest.mark.parametrize("classes", [3, 10])
@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_the_quadrature_agrees_with_scipy(classes, scale):
    mean, variance = logits(classes, points=4, scale=scale)
    found = multinomial.log_probabilities(mean, variance).exp().numpy()
    std = (variance + NOISE).sqrt().numpy()
    for n, m in enumerate(mean.numpy()):
        for y in range(classes):
            others = [j for j in range(classes) if j != y]

            def integrand(u, m=m, s=std[n], y=y, others=others):
                arguments = (m[y] + s[y] * u - m[others]) / s[others]
                return norm.pdf(u) * norm.cdf(arguments).prod()

            expected = quad(integrand, -10, 10, epsabs=1e-12, limit=200)[0]
            assert found[n, y] == pytest.approx(expected, abs=1e-4)


def test_two_classes_are_a_probit_that_stays_close_to_the_logistic():
    difference = torch.linspace(-4, 4, 81, dtype=torch.float64)
    mean = torch.stack([difference, torch.zeros_like(difference)], dim=1)
    found = multinomial.log_probabilities(mean, torch.zeros_like(mean)).exp()[:, 0]
    assert (found - difference.sigmoid()).abs().max() < 0.02


def compiled_head(mean, variance, label):
    """Return log Z, and its derivatives by means and variances."""
    outputs = np.stack([mean, variance, np.zeros_like(mean), np.zeros_like(mean)])
    if len(mean) == 2:
        log_z = pbp_classes.two_classes(outputs, label)
    else:
        nodes, log_weights = multinomial.quadrature()
        buffers = np.empty((2, len(nodes), len(mean)))
        shares = np.empty(len(nodes))
        log_z = pbp_classes.many_classes(outputs, label, nodes, log_weights, *buffers, shares)
    return log_z, outputs[2], outputs[3]


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("scale", [1.0, 6.0])
def test_the_compiled_head_has_the_derivatives_of_log_z(classes, scale):
    mean, variance = logits(classes, points=1, scale=scale)
    for m, v in zip(mean, variance, strict=True):
        for label in range(classes):
            log_z, of_mean, of_variance = compiled_head(m.numpy(), v.numpy(), label)

            def value(m, v, label=label):
                return float(multinomial.log_probabilities(m[None], v[None])[0, label])

            assert log_z == pytest.approx(value(m, v), rel=1e-12)
            for k in range(classes):
                step = torch.zeros(classes, dtype=torch.float64)
                step[k] = 1e-5
                expected = (value(m + step, v) - value(m - step, v)) / 2e-5
                assert of_mean[k] == pytest.approx(expected, rel=1e-6, abs=1e-8)
                expected = (value(m, v + step) - value(m, v - step)) / 2e-5
                assert of_variance[k] == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("classes", [2, 4])
def test_a_label_never_widens_a_logit(classes):
    mean, variance = logits(classes, points=50, scale=4.0)
    for m, v in zip(mean.numpy(), variance.numpy(), strict=True):
        for label in range(classes):
            _, of_mean, of_variance = compiled_head(m, v, label)
            assert (v**2 * (of_mean**2 - 2 * of_variance) > -1e-3 * v).all()


def test_an_impossible_label_has_finite_derivatives():
    for classes in (2, 5):
        mean = np.zeros(classes)
        mean[0] = 500.0
        for values in compiled_head(mean, np.ones(classes), 1):
            assert np.isfinite(values).all()
