"""Bounds of Gaussian last layers against evidence, sampling and test vectors."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal
from torch.distributions import MultivariateNormal, kl_divergence

from bnnbench.methods.vbll import heads
from bnnbench.methods.vbll.heads import Heads

VARIANCE, NOISE = 0.5, 0.04
PHI = torch.tensor(
    [[math.sin(1 + i + 2 * j) for j in range(3)] for i in range(6)], dtype=torch.float64
)
TARGETS = torch.tensor([math.cos(0.7 * i) for i in range(6)], dtype=torch.float64)
CLASSES = torch.tensor([0, 1, 2, 0, 1, 2])


def double(values):
    return torch.tensor(values, dtype=torch.float64)


def one_head(mean, factor):
    log_std = double([[0.5 * math.log(NOISE)]])
    return Heads(mean[None, None], factor[None, None], log_std)


def total_bound(head):
    likelihood = heads.gaussian_bounds(PHI[None], TARGETS[None, :, None], head).sum()
    return float(likelihood - heads.divergences(head, double([[VARIANCE]])).sum())


ANYWHERE = one_head(double([0.1, 0.1, 0.1]), torch.diag(double([0.1, 0.2, 0.3])))


def test_the_bound_of_the_exact_posterior_is_the_log_evidence():
    mean, factor = heads.exact_head(PHI, TARGETS, NOISE, VARIANCE)
    covariance = NOISE * np.eye(6) + VARIANCE * (PHI @ PHI.mT).numpy()
    evidence = multivariate_normal(np.zeros(6), covariance).logpdf(TARGETS.numpy())
    assert total_bound(one_head(mean, factor)) == pytest.approx(evidence, abs=1e-10)
    assert evidence == pytest.approx(-5.360628175736, abs=1e-10)


def test_the_exact_posterior_has_the_moments_of_the_conjugate_model():
    mean, factor = heads.exact_head(PHI, TARGETS, NOISE, VARIANCE)
    expected = double([0.62214587, -0.45496325, -0.24348284])
    torch.testing.assert_close(mean, expected, atol=1e-8, rtol=0)
    diagonal = (factor @ factor.mT).diagonal()
    expected = double([0.19067631, 0.13585970, 0.19116185])
    torch.testing.assert_close(diagonal, expected, atol=1e-8, rtol=0)
    assert torch.equal(factor, factor.tril())


def test_any_other_posterior_has_a_lower_bound():
    mean, variances = np.array([0.1, 0.1, 0.1]), np.array([0.01, 0.04, 0.09])
    errors = TARGETS.numpy() - PHI.numpy() @ mean
    squares = errors**2 + PHI.numpy() ** 2 @ variances
    likelihood = -0.5 * (squares / NOISE + math.log(2 * math.pi * NOISE)).sum()
    approximation = MultivariateNormal(torch.tensor(mean), torch.diag(torch.tensor(variances)))
    prior = MultivariateNormal(torch.zeros(3).double(), VARIANCE * torch.eye(3).double())
    expected = likelihood - float(kl_divergence(approximation, prior))
    assert total_bound(ANYWHERE) == pytest.approx(expected, abs=1e-10)
    assert expected < -5.360628175736


def test_the_loss_with_a_prior_of_the_noise_is_the_reference_value():
    prior = heads.noise_prior(ANYWHERE.log_noise_stds, 1.0, 0.01, 1)
    loss = -(total_bound(ANYWHERE) + float(prior)) / 6
    assert loss == pytest.approx(7.548962822047, abs=1e-10)


def test_variances_of_predictions_are_the_reference_values():
    variances = heads.variances_of(PHI[None, :2], ANYWHERE).flatten() + NOISE
    expected = double([0.13063555, 0.07820479])
    torch.testing.assert_close(variances, expected, atol=1e-8, rtol=0)


def three_heads(scale=1.0):
    means = double([[0.5, -0.2, 0.1], [-0.3, 0.4, 0.0], [0.2, 0.1, -0.6]])
    factors = torch.stack([torch.diag(double([0.1 * (k + 1), 0.2, 0.3])) for k in range(3)])
    log_stds = (scale * double([0.3, 0.5, 0.1])).log()
    return Heads(means[None], scale * factors[None], log_stds[None])


def test_the_bound_of_classes_is_the_reference_value_and_below_the_expectation():
    head = three_heads()
    bounds = heads.categorical_bounds(PHI[None], CLASSES[None], head)[0]
    given = [-1.26479772, -1.94939452, -1.53873885, -1.22516192, -0.66487090, -1.04966067]
    torch.testing.assert_close(bounds, double(given), atol=1e-8, rtol=0)
    variances = heads.variances_of(PHI[None], head) + (2 * head.log_noise_stds).exp()
    rng = torch.Generator().manual_seed(0)
    normals = torch.randn(20_000, 6, 3, generator=rng, dtype=torch.float64)
    logits = heads.means_of(PHI[None], head) + variances.sqrt() * normals
    draws = logits.log_softmax(-1)[:, range(6), CLASSES]
    standard_errors = draws.std(0) / math.sqrt(len(draws))
    assert (bounds < draws.mean(0) - 5 * standard_errors).all()


def test_without_uncertainty_the_bound_of_classes_is_the_log_softmax():
    head = three_heads(1e-9)
    bounds = heads.categorical_bounds(PHI[None], CLASSES[None], head)[0]
    expected = (PHI @ head.means[0].mT).log_softmax(-1)[range(6), CLASSES]
    torch.testing.assert_close(bounds, expected, atol=1e-15, rtol=0)


def test_triangular_factors_have_the_exponential_of_their_diagonal():
    numbers = double([[0.1, 5.0], [0.3, -0.2]])
    expected = double([[math.exp(0.1), 0.0], [0.3, math.exp(-0.2)]])
    torch.testing.assert_close(heads.triangular(numbers), expected)
