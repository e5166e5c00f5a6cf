"""Rotated noise by explicit matrices, and its divergence by torch and sampling."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch.distributions import MultivariateNormal, Normal, kl_divergence

from bnnbench.methods.vsd.noise import RotatedNoise, initial_numbers, noises_of
from tests.methods.problems import stream, streams

INPUTS = 5


def noise(reflections=2, members=2):
    numbers = initial_numbers([INPUTS], reflections, -1.0, streams(*range(members)), torch.float64)
    numbers[:, :INPUTS] += torch.randn(members, INPUTS, generator=stream(9), dtype=torch.float64)
    return noises_of(numbers, [INPUTS], reflections)[0]


def rotation(of: RotatedNoise, member: int) -> torch.Tensor:
    identity = torch.eye(INPUTS, dtype=torch.float64)
    whole = identity
    for vectors in of.vectors:
        v = vectors[member]
        whole = whole @ (identity - 2 * torch.outer(v, v) / (v @ v))
    return whole


def law(of: RotatedNoise, member: int) -> MultivariateNormal:
    u = rotation(of, member)
    covariance = u @ of.log_alpha[member].exp().diag() @ u.T
    return MultivariateNormal(u @ torch.ones(INPUTS, dtype=torch.float64), covariance)


@pytest.mark.parametrize("reflections", [0, 1, 2, 3])
def test_rows_are_turned_by_the_product_of_the_reflections_and_back_by_its_transpose(reflections):
    found = noise(reflections)
    rows = torch.randn(2, 7, INPUTS, generator=stream(1), dtype=torch.float64)
    for member in range(2):
        u = rotation(found, member)
        torch.testing.assert_close(found.rotated(rows)[member], rows[member] @ u.T)
        torch.testing.assert_close(found.rotated_back(rows)[member], rows[member] @ u)


def test_means_and_variances_agree_with_the_matrices():
    found = noise()
    for member in range(2):
        expected = law(found, member)
        torch.testing.assert_close(found.mean()[member], expected.mean)
        torch.testing.assert_close(found.variance()[member], expected.variance)


def test_factors_have_the_law_of_the_matrices():
    found, draws = noise(), 200_000
    standard = torch.randn(2, draws, INPUTS, generator=stream(2), dtype=torch.float64)
    for member, factors in enumerate(found.factors(standard)):
        expected = law(found, member)
        error = (expected.variance / draws).sqrt()
        assert ((factors.mean(0) - expected.mean) / error).abs().max() < 4.5
        scale = expected.stddev.outer(expected.stddev)
        off = (factors.T.cov() - expected.covariance_matrix) / scale
        assert off.abs().max() < 0.02
        assert (expected.covariance_matrix / scale - torch.eye(INPUTS)).abs().max() > 0.2


def test_the_divergence_is_the_least_to_a_prior_of_any_precisions():
    found = noise()
    for member in range(2):
        posterior = law(found, member)

        def divergence(log_precisions: np.ndarray, posterior=posterior) -> float:
            precisions = torch.tensor(log_precisions).exp()
            prior = MultivariateNormal(
                torch.zeros_like(precisions), precision_matrix=precisions.diag()
            )
            return float(kl_divergence(posterior, prior))

        best = minimize(divergence, np.zeros(INPUTS), method="BFGS", options={"gtol": 1e-7})
        assert float(found.kl()[member]) == pytest.approx(best.fun, rel=1e-8)


def test_the_divergence_agrees_with_sampled_weights_of_any_size():
    found, draws = noise(), 100_000
    theta = torch.tensor([0.3, -2.0, 5.0, 0.01, 1.0], dtype=torch.float64)
    factors = law(found, 0).sample((draws,))
    weights = theta * factors
    posterior = MultivariateNormal(
        theta * law(found, 0).mean, theta.diag() @ law(found, 0).covariance_matrix @ theta.diag()
    )
    second_moments = posterior.mean.square() + posterior.variance
    prior = Normal(torch.zeros_like(theta), second_moments.sqrt())
    terms = posterior.log_prob(weights) - prior.log_prob(weights).sum(1)
    error = float(terms.std()) / draws**0.5
    assert float(found.kl()[0]) == pytest.approx(float(terms.mean()), abs=4.5 * error)


def test_without_a_rotation_it_is_gaussian_dropout():
    found = noise(0)
    expected = 0.5 * (1 + 1 / found.log_alpha.exp()).log().sum(1)
    torch.testing.assert_close(found.kl(), expected)


def test_the_gradient_of_the_divergence_agrees_with_finite_differences():
    numbers = initial_numbers([INPUTS], 2, -1.0, streams(0), torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda n: noises_of(n, [INPUTS], 2)[0].kl().sum(), (numbers,))


def test_numbers_of_several_layers_are_read_in_order():
    numbers = torch.arange(2 * 3 + 2 * 2, dtype=torch.float64)[None]
    first, second = noises_of(numbers, [3, 2], 1)
    assert first.log_alpha.tolist() == [[0, 1, 2]]
    assert first.vectors[0].tolist() == [[3, 4, 5]]
    assert second.log_alpha.tolist() == [[6, 7]]
    assert second.vectors[0].tolist() == [[8, 9]]
