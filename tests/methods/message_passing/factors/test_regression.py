"""Compared with conjugate models of a normal with unknown precision."""

import pytest
import torch
from scipy import stats

from bnnbench.methods.message_passing.factors import regression
from bnnbench.methods.message_passing.factors.regression import Gamma
from bnnbench.methods.message_passing.gaussian import Gaussian
from tests.methods.message_passing.factors.messages import random_messages


def targets(members: int, rows: int, outputs: int, dtype=torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return 0.5 * torch.randn((members, rows, outputs), generator=generator, dtype=dtype)


def gamma(shape: float, rate: float, members: int = 1) -> Gamma:
    return Gamma(*(torch.full((members,), v, dtype=torch.float64) for v in (shape, rate)))


def test_known_noise_sends_the_density_of_the_target():
    y = targets(2, 5, 3)
    variance = torch.tensor([0.25, 4.0], dtype=torch.float64)[:, None, None]
    message = regression.backward(y, variance)
    torch.testing.assert_close(message.mean, y)
    torch.testing.assert_close(message.variance, variance.expand(2, 5, 3))
    torch.testing.assert_close(regression.backward(y, 0.25).rho, torch.full_like(y, 4.0))


def test_with_a_known_mean_the_posterior_of_the_precision_is_the_conjugate_one():
    y, prior = targets(1, 30, 1), gamma(2.0, 0.3)
    known = Gaussian.of(torch.full_like(y, 0.1), torch.full_like(y, 1e-300))
    posterior = prior * regression.message_to_precision(y, known)
    grid = torch.linspace(1e-3, 40, 200_001, dtype=torch.float64)
    log_density = stats.gamma(2.0, scale=1 / 0.3).logpdf(grid) + sum(
        stats.norm(0.1, (1 / grid).sqrt()).logpdf(value) for value in y.flatten().tolist()
    )
    density = torch.tensor(log_density - log_density.max()).exp()
    mean = torch.trapezoid(density * grid, grid) / torch.trapezoid(density, grid)
    inverse = torch.trapezoid(density / grid, grid) / torch.trapezoid(density, grid)
    assert posterior.mean.item() == pytest.approx(mean.item(), rel=1e-8)
    assert posterior.mean_variance.item() == pytest.approx(inverse.item(), rel=1e-8)


def test_the_fixed_point_for_a_normal_gamma_model_has_its_known_form():
    # y ~ N(m, 1/γ), m ~ N(0, 1/(k γ)) is jointly conjugate; with the vague prior k -> 0 the exact
    # posterior has E[γ] = (n - 1)/S, and the factorised one has the E[γ] of its fixed point, where
    # Var[m] = 1/(n E[γ]): E[γ] = n/(S + 1/E[γ]), hence also (n - 1)/S.
    y = targets(1, 20, 1)
    n, deviation = 20, (y - y.mean()).square().sum().item()
    precision = 1.0
    for _ in range(200):
        mean = Gaussian.of(y.mean().expand(1, n, 1), torch.tensor(1 / (n * precision)).double()
                           .expand(1, n, 1))  # fmt: skip
        posterior = regression.message_to_precision(y, mean)
        precision = posterior.mean.item()
    assert precision == pytest.approx((n - 1) / deviation, rel=1e-10)


def test_batches_swap_without_double_counting():
    y, z = targets(2, 12, 3), random_messages(2, 12, 3, seed=5)
    prior = gamma(1.5, 0.2, members=2)
    parts = [slice(0, 5), slice(5, 12)]
    old = [regression.message_to_precision(y[:, rows], z[:, rows]) for rows in parts]
    marginal = prior * old[0] * old[1]
    whole = prior * regression.message_to_precision(y, z)
    torch.testing.assert_close(marginal.rate, whole.rate)
    torch.testing.assert_close(marginal.shape, whole.shape)
    moved = random_messages(2, 12, 3, seed=6)
    for _ in range(3):  # nothing changes the second and third time
        new = [regression.message_to_precision(y[:, rows], moved[:, rows]) for rows in parts]
        for k in range(2):
            marginal = marginal / old[k] * new[k]
        old = new
    whole = prior * regression.message_to_precision(y, moved)
    torch.testing.assert_close(marginal.rate, whole.rate)
    torch.testing.assert_close(marginal.shape, whole.shape)


def test_a_step_of_one_is_the_whole_change():
    a, b = gamma(1.0, 2.0), gamma(3.0, 5.0)
    assert a.moved(b, 1.0).rate.item() == 5
    assert (a.moved(b, 0.25).shape.item(), a.moved(b, 0.25).rate.item()) == (1.5, 2.75)


def test_no_prediction_has_finite_variance_before_there_is_evidence():
    assert gamma(1.0, 2.0).mean_variance.item() == float("inf")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_member_does_not_depend_on_its_company(dtype):
    y, z = targets(6, 33, 3, dtype), random_messages(6, 33, 3, seed=7, dtype=dtype)
    together = regression.message_to_precision(y, z)
    for member in range(6):
        one = slice(member, member + 1)
        alone = regression.message_to_precision(y[one].clone(), z[one])
        assert torch.equal(alone.rate, together.rate[one])
        assert torch.equal(alone.shape, together.shape[one])
