"""Covariances of rectified units, and their effect on the moments of networks."""

import dataclasses
import math
from typing import Any

import pytest
import torch

from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.pbp import correlated
from bnnbench.methods.pbp.method import Pbp
from tests.methods.pbp.states import flat, moments, random_state
from tests.methods.pbp.test_own_draws import outputs_of_drawn_weights
from tests.methods.problems import regression, stream


def pair(mean: float, correlation: float):
    """Return the covariance of two rectified units of standard deviation 1."""
    covariance = torch.tensor([[[1.0, correlation], [correlation, 1.0]]], dtype=torch.float64)
    means = torch.tensor([[mean, mean]], dtype=torch.float64)
    return float(correlated.rectified(means, covariance)[1][0, 0, 1])


@pytest.mark.parametrize("correlation", [1e-3, -1e-2])
def test_what_the_covariance_of_two_units_lacks_is_of_second_order(correlation):
    r"""At mean 0, E[relu(a) relu(b)] = (√(1 - ρ²) + ρ (π/2 + arcsin ρ)) / 2π, the series
    1/2π + ρ/4 + ρ²/4π + ...: the kernel of Cho and Saul (2009)."""
    angle = math.pi / 2 + math.asin(correlation)
    exact = (math.sqrt(1 - correlation**2) + correlation * angle - 1) / (2 * math.pi)
    lacking = (exact - pair(0.0, correlation)) / correlation**2
    assert lacking == pytest.approx(1 / (4 * math.pi), rel=0.02)


@pytest.mark.parametrize(("mean", "share"), [(12.0, 1.0), (-12.0, 0.0)])
def test_units_far_from_the_kink_have_all_or_none_of_it(mean, share):
    assert pair(mean, 0.7) == pytest.approx(0.7 * share, abs=1e-12)


def test_covariances_of_units_agree_with_a_distribution():
    rng = stream(0)
    factor = torch.randn(20, 12, 3, dtype=torch.float64, generator=rng)
    covariance = factor @ factor.mT + 1e-3 * torch.eye(12, dtype=torch.float64)
    means = 2 * torch.randn(20, 12, dtype=torch.float64, generator=rng)
    assert torch.linalg.eigvalsh(correlated.rectified(means, covariance)[1]).min() > 0


@pytest.mark.parametrize("hidden", [(), (20,)])
def test_nothing_changes_up_to_one_hidden_layer(hidden):
    problem = dataclasses.replace(regression(rows=60), architecture=mlp([*hidden], outputs=1))
    with_them, without = (
        Pbp(epochs=3, covariances=each).fit(problem, stream(0)) for each in (True, False)
    )
    one, other = (posterior.state for posterior in (with_them, without))
    for name in ("mean", "variance"):
        values = flat(getattr(one, name), one), flat(getattr(other, name), other)
        torch.testing.assert_close(*values, rtol=0, atol=0)


@pytest.mark.long
@pytest.mark.parametrize("widths", [(4, 20, 20, 1), (4, 20, 20, 20, 1)])
def test_deviations_of_deep_networks_come_near_those_of_draws(widths):
    """Errors of the logarithm fall to a fifth if units rise and fall together."""
    state = random_state(widths, seed=2)
    state.mean.abs_()  # units that rise and fall together
    state.variance.mul_(0.3)
    inputs = torch.randn(6, 4, dtype=torch.float64, generator=stream(3))
    rows = [outputs_of_drawn_weights(state, row, 20_000, stream(4)) for row in inputs]
    drawn = torch.stack(rows, dim=1).std(0)
    without, with_them = (
        (moments(state, inputs, each)[1].sqrt() / drawn).log().abs().mean()
        for each in (False, True)
    )
    assert with_them < 0.2 * without
    assert without > 0.15


@pytest.mark.long
def test_a_fit_predicts_by_them_and_says_how_near_its_draws_they_are():
    problem = dataclasses.replace(regression(rows=60), architecture=mlp([20, 20], outputs=1))
    posterior: Any = Pbp(epochs=3, covariances=True).fit(problem, stream(0))
    inputs = problem.train.inputs[:16]
    mean, variance = moments(posterior.state, inputs.flatten(1).double(), covariances=True)
    predicted = posterior.predict(inputs, stream(1))
    torch.testing.assert_close(predicted.mean, mean)
    torch.testing.assert_close(
        predicted.variance - posterior.state.noise_variance, variance, rtol=1e-9, atol=1e-12
    )
    assert posterior.diagnostics["std_over_draws"] == pytest.approx(1.0, abs=0.05)
    assert Pbp(epochs=3).fit(problem, stream(0)).diagnostics["std_over_draws"] < 0.95
