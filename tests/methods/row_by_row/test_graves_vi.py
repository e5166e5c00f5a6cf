"""Row-wise variational inference, by closed forms, autograd and finite differences."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence
from torch.nn import functional

from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.compiled.normal import initial_state
from bnnbench.methods.networks.architectures import Tanh
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.row_by_row.graves_vi import GravesVi, best_prior, kl
from bnnbench.methods.row_by_row.kernels.graves_vi import vary_epoch
from bnnbench.methods.row_by_row.perceptron import RowPerceptron
from tests.methods.problems import classification, design, regression, stream

NOISE, PRIOR_MEAN, PRIOR_VARIANCE = 0.4, 0.3, 0.5
PROBLEMS = {
    "relu": regression(rows=2, architecture=mlp([3], 1), dtype=torch.float64),
    "tanh": regression(rows=2, architecture=mlp([3], 1, activation=Tanh()), dtype=torch.float64),
    "classes": classification(rows=2, architecture=mlp([3], 3), dtype=torch.float64),
}


def one_row(problem, row=1):
    return dataclasses.replace(problem, train=problem.train.rows(slice(row, row + 1)))


def moved(rows, mean, precision, state, *, rate, memory, noise_variance, natural=True):
    """Return mean and precision after one update by the only row."""
    mean, precision = mean.copy(), precision.copy()
    vary_epoch(
        mean,
        precision,
        np.zeros_like(mean),
        np.zeros_like(mean),
        state,
        rows.widths,
        rows.tanh,
        rows.inputs,
        rows.targets,
        np.zeros(1, dtype=np.int64),
        rows.categorical,
        natural,
        rate,
        0.0,
        memory,
        noise_variance,
        PRIOR_MEAN,
        PRIOR_VARIANCE,
    )
    return mean, precision


def losses(rows, weights):
    """Return the loss of the only row in nats, by torch, for every weight vector."""
    outputs = rows.network(weights, rows.problem.train.inputs[None])[:, 0]
    target = rows.problem.train.targets
    if rows.categorical:
        return functional.cross_entropy(outputs, target.expand(len(weights)), reduction="none")
    return 0.5 * (outputs - target).square().sum(1) / NOISE


@pytest.fixture(scope="module", params=PROBLEMS)
def expectations(request):
    """Many single updates by the kernel, and the same number of draws by torch."""
    rows = RowPerceptron(one_row(PROBLEMS[request.param]))
    mean, std = 2 * rows.initial(stream(0)), 0.1 + np.abs(rows.initial(stream(1)))
    variance = 1.0 if rows.categorical else NOISE
    state, count = initial_state(stream(2)), 40_000
    options = {"rate": 1e-2, "memory": 50.0, "noise_variance": variance}
    steps = [moved(rows, mean, std**-2, state, **options) for _ in range(count)]
    shifts = np.stack([(mean - after) / 1e-2 for after, _ in steps]) / variance
    growths = np.stack([(after - std**-2) * 50 + std**-2 for _, after in steps])
    draws = torch.randn(count, len(mean), generator=stream(3), dtype=torch.float64)
    center, scale = rows.in_torch(mean), rows.in_torch(std)
    weights = (center + scale * draws).requires_grad_()
    (gradients,) = torch.autograd.grad(losses(rows, weights).sum(), weights)
    return rows, mean, std, shifts, growths, gradients.numpy(), draws


def assert_equal_means(one, other):
    """Compare the means of two samples within 4.5 standard errors."""
    error = np.sqrt(one.var(0) / len(one) + other.var(0) / len(other))
    assert (np.abs(one.mean(0) - other.mean(0)) < 4.5 * error + 1e-9).all()


def test_steps_in_the_means_follow_the_gradient_at_drawn_weights(expectations):
    rows, mean, _, shifts, _, gradients, _ = expectations
    pull = (mean - PRIOR_MEAN) / PRIOR_VARIANCE
    assert_equal_means(shifts - pull, gradients[:, rows.order])


def test_steps_in_the_precisions_follow_squared_gradients_and_the_prior(expectations):
    rows, _, _, _, growths, gradients, _ = expectations
    assert_equal_means(growths - 1 / PRIOR_VARIANCE, gradients[:, rows.order] ** 2)


@pytest.mark.long
def test_steps_in_the_means_are_finite_differences_of_the_bound(expectations):
    """Both terms of a difference use the same draws."""
    rows, mean, std, shifts, _, _, draws = expectations
    center, scale, step = rows.in_torch(mean), rows.in_torch(std), 1e-4
    prior = Normal(torch.tensor(PRIOR_MEAN, dtype=torch.float64), PRIOR_VARIANCE**0.5)
    differences = []
    for place in range(len(mean)):
        sides = []
        for sign in (1, -1):
            there = center.clone()
            there[place] += sign * step
            divergence = kl_divergence(Normal(there, scale), prior).sum()
            sides.append(losses(rows, there + scale * draws) + divergence)
        differences.append((sides[0] - sides[1]) / (2 * step))
    assert_equal_means(shifts, torch.stack(differences, dim=1).numpy()[:, rows.order])


@pytest.mark.long
def test_plain_steps_are_finite_differences_of_the_bound_in_log_deviations(expectations):
    rows, mean, std, _, _, _, draws = expectations
    variance = 1.0 if rows.categorical else NOISE
    options = {"rate": 1e-2, "memory": 50.0, "noise_variance": variance, "natural": False}
    state, before = initial_state(stream(4)), std**-2
    after = (moved(rows, mean, before, state, **options)[1] for _ in range(40_000))
    shifts = np.stack([np.log(one / before) / 2 / 1e-2 for one in after]) / variance
    center, step = rows.in_torch(mean), 1e-4
    prior = Normal(torch.tensor(PRIOR_MEAN, dtype=torch.float64), PRIOR_VARIANCE**0.5)
    differences = []
    for place in range(len(mean)):
        sides = []
        for sign in (1, -1):
            there = rows.in_torch(std).clone()
            there[place] *= math.exp(sign * step)
            divergence = kl_divergence(Normal(center, there), prior).sum()
            sides.append(losses(rows, center + there * draws) + divergence)
        differences.append((sides[0] - sides[1]) / (2 * step))
    assert_equal_means(shifts, torch.stack(differences, dim=1).numpy()[:, rows.order])


def test_the_divergence_agrees_with_independent_gaussians():
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=9), rng.uniform(0.01, 2, size=9)
    posterior = Normal(torch.from_numpy(mean), torch.from_numpy(variance).sqrt())
    prior = Normal(torch.tensor(0.3, dtype=torch.float64), math.sqrt(0.7))
    expected = float(kl_divergence(posterior, prior).sum())
    assert kl(mean, variance, 0.3, 0.7) == pytest.approx(expected, rel=1e-12)


def test_no_other_prior_is_nearer_than_the_best():
    rng = np.random.default_rng(1)
    mean, variance = rng.normal(size=30), rng.uniform(0.01, 2, size=30)
    center, spread = best_prior(mean, variance)
    least = kl(mean, variance, center, spread)
    for shift, factor in ((0.01, 1), (-0.01, 1), (0, 1.01), (0, 0.99), (0.3, 2)):
        assert kl(mean, variance, center + shift, spread * factor) > least


def fixed_point(problem, noise_variance):
    """Return means, variances and prior at which all derivatives vanish, for a linear network.

    Squared gradients average to x² (residual² + variance of the output) / v² over draws.
    """
    rows, targets = design(problem), problem.train.targets[:, 0]
    variance, center, spread = torch.full((5,), 1e-2, dtype=torch.float64), 0.0, 1.0
    identity = torch.eye(5, dtype=torch.float64)
    for _ in range(500):
        precision = rows.T @ rows / noise_variance + identity / spread
        mean = torch.linalg.solve(precision, rows.T @ targets / noise_variance + center / spread)
        squares = (targets - rows @ mean).square() + rows.square() @ variance
        variance = 1 / (rows.square().T @ squares / noise_variance**2 + 1 / spread)
        center = float(mean.mean())
        spread = float((variance + (mean - center).square()).mean())
    return mean, variance, center, spread


def linear_fit(noise_std, epochs=3000):
    problem = regression(
        rows=80,
        noise_std=noise_std,
        true_std=0.5,
        architecture=mlp([], 1),
        dtype=torch.float64,
    )
    settings = {"learning_rate": 3e-4, "momentum": 0.5}
    return problem, GravesVi(epochs=epochs).descend(problem, settings, stream(0))


def test_bayesian_linear_regression_ends_where_all_derivatives_vanish():
    problem, posterior = linear_fit(0.5)
    mean, variance, center, spread = fixed_point(problem, 0.25)
    std = variance.sqrt()
    assert ((posterior.at_mean.weights[0] - mean) / std).abs().max() < 0.15
    # Averages over about 80 rows of squared normals: logarithms of variances vary by 0.16.
    assert (posterior.std / std).log().abs().max() < 0.2
    assert posterior.diagnostics["prior_mean"] == pytest.approx(center, abs=0.02)
    assert posterior.diagnostics["prior_std"] == pytest.approx(math.sqrt(spread), rel=0.05)


def test_its_variances_are_near_the_mean_field_optimum_of_a_well_specified_model():
    """The optimum is the inverse diagonal of the precision; Fisher's sample approximates it."""
    problem, posterior = linear_fit(0.5)
    rows = design(problem)
    _, _, _, spread = fixed_point(problem, 0.25)
    precision = (rows.square().sum(0) / 0.25) + 1 / spread
    assert (posterior.std.square() * precision).log().abs().max() < 0.5


def test_learned_noise_is_the_expected_squared_residual():
    problem, posterior = linear_fit(None)
    (weights,) = posterior.at_mean.weights
    rows = design(problem)
    residuals = (problem.train.targets[:, 0] - rows @ weights).square()
    spread = rows.square() @ posterior.std.square()
    expected = float((residuals + spread).mean().sqrt())
    assert posterior.diagnostics["noise_std"] == pytest.approx(expected, rel=0.05)


def test_predictions_are_draws_around_the_mean():
    problem, posterior = linear_fit(0.5, epochs=50)
    many = dataclasses.replace(posterior, draws=4000)
    predicted = many.predict(problem.train.inputs, stream(1))
    rows, (weights,) = design(problem), posterior.at_mean.weights
    spread = rows.square() @ posterior.std.square()
    error = (predicted.mean[:, 0] - rows @ weights) / (spread / 4000).sqrt()
    assert error.abs().max() < 5
    torch.testing.assert_close(predicted.variance[:, 0], spread + 0.25, rtol=0.05, atol=0)


def test_plain_steps_end_near_the_mean_field_optimum():
    """For a linear network the bound is optimal at the inverse diagonal of the precision."""
    problem = regression(
        rows=80, noise_std=0.5, true_std=0.5, architecture=mlp([], 1), dtype=torch.float64
    )
    settings = {"learning_rate": 3e-4, "momentum": 0.5}
    posterior = GravesVi(epochs=3000, steps="plain").descend(problem, settings, stream(0))
    spread = posterior.diagnostics["prior_std"] ** 2
    precision = design(problem).square().sum(0) / 0.25 + 1 / spread
    assert (posterior.std.square() * precision).log().abs().max() < 0.3


def test_a_rate_that_explodes_is_a_divergence():
    settings = {"learning_rate": 1e3, "momentum": 0.5}
    with pytest.raises(InferenceDiverged, match="the mean loss of epoch"):
        GravesVi().descend(regression(), settings, stream(0))


def test_the_search_reports_what_it_chose():
    posterior = GravesVi(trials=12, epochs=10).fit(regression(rows=100), stream(0))
    chosen = posterior.diagnostics
    assert 1e-5 <= chosen["learning_rate"] <= 1e-1
    assert 0 <= chosen["momentum"] <= 0.99
    # Noise of 0.3 in targets with variance of about 1: better than no information, 1.4 nats.
    assert chosen["validation_loss"] < 1.0
    assert chosen["noise_std"] < 0.8


def test_settings_are_checked():
    for wrong in (
        {"draws": 0},
        {"trials": 0},
        {"initial_std": 0.0},
        {"validation_share": -0.1},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            GravesVi(**wrong)
