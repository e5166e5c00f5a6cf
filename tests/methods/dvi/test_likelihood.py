"""Expected log likelihoods, compared with quadrature."""

import numpy as np
import pytest
import torch
from numpy.polynomial.hermite_e import hermegauss
from scipy.stats import lognorm, norm

from bnnbench.methods.dvi.likelihood import MeanAndLogVariance, expected_losses, expected_squares
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.covariances.correlated import CorrelatedMoments

CASES = [
    (0.3, 0.2, -0.5, 0.4, 0.0, 0.7),
    (0.3, 0.2, -0.5, 0.4, 0.25, -0.7),
    (-1.2, 1.5, 0.8, 0.9, -1.0, 2.0),
    (0.0, 1e-4, 0.0, 1e-4, 5e-5, 0.0),
]
"""Mean and variance of m and of l, their covariance, and the target."""


def quadrature(case):
    """Return E[-log N(y; m, e^l)] and the variance of y by 80 x 80 nodes."""
    mean, spread, log, log_spread, covariance, target = case
    nodes, weights = hermegauss(80)
    weights = weights / weights.sum()
    logs = log + np.sqrt(log_spread) * nodes[:, None]
    slope = covariance / log_spread
    left = np.sqrt(spread - covariance * slope)
    m = mean + slope * (logs - log) + left * nodes[None, :]
    both = weights[:, None] * weights[None, :]
    loss = (both * -norm.logpdf(target, m, np.exp(logs / 2))).sum()
    return loss, (both * (np.exp(logs) + m**2)).sum() - (both * m).sum() ** 2


def outputs(case):
    return [torch.full((1, 1, 1), value, dtype=torch.float64) for value in case]


@pytest.mark.parametrize("case", CASES)
def test_the_loss_of_two_outputs_and_the_variance_agree_with_quadrature(case):
    *moments, target = outputs(case)
    both = MeanAndLogVariance(*moments)
    loss, variance = quadrature(case)
    assert float(both.expected_losses(target)) == pytest.approx(loss, rel=1e-10)
    assert float(both.variance()) == pytest.approx(variance, rel=1e-10)


def test_halves_of_correlated_outputs_are_paired_target_by_target():
    mean = torch.arange(4, dtype=torch.float64).view(1, 1, 4)
    root = torch.randn(1, 1, 4, 4, generator=torch.Generator().manual_seed(0)).double()
    y = CorrelatedMoments(mean, root @ root.mT)
    both = MeanAndLogVariance.of(y)
    covariance = y.covariance[0, 0]
    assert both.mean[0, 0].tolist() == [0, 1]
    assert both.log[0, 0].tolist() == [2, 3]
    assert both.covariance[0, 0].tolist() == [covariance[0, 2], covariance[1, 3]]
    assert both.log_variance[0, 0].tolist() == [covariance[2, 2], covariance[3, 3]]
    assert both.mean_variance[0, 0].tolist() == [covariance[0, 0], covariance[1, 1]]


def test_the_loss_of_one_noise_agrees_with_quadrature():
    mean, spread, noise, target = 0.4, 0.3, 0.7, -0.9
    y = Moments(*outputs([mean, spread]))
    nodes, weights = hermegauss(40)
    densities = norm.logpdf(target, mean + np.sqrt(spread) * nodes, np.sqrt(noise))
    expected = -(weights * densities).sum() / weights.sum()
    squares = expected_squares(y, *outputs([target]))
    found = expected_losses(squares, torch.tensor([noise], dtype=torch.float64))
    assert float(found) == pytest.approx(expected, rel=1e-12)


def moments_of(log, log_spread):
    values = (torch.tensor([[[v]]], dtype=torch.float32) for v in (0.0, 0.5, log, log_spread, 0.0))
    return MeanAndLogVariance(*values)


@pytest.mark.parametrize(("log", "log_spread"), [(-3.0, 0.5), (10.0, 4.0), (50.0, 1.0)])
def test_a_variance_is_that_of_a_log_normal(log, log_spread):
    expected = 0.5 + lognorm(np.sqrt(log_spread), scale=np.exp(log)).mean()
    assert float(moments_of(log, log_spread).variance()) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("log_spread", [100.0, 1e4, 1e30])
def test_a_variance_beyond_single_precision_stays_finite_and_large(log_spread):
    assert 1e20 < float(moments_of(100.0, log_spread).variance()) < 1e30
