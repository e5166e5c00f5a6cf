"""EP against closed forms, exact posteriors on a grid, and itself with rows in another order."""

import math

import numpy as np
import pytest
import torch
from scipy import special, stats

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.ep import solver
from bnnbench.methods.ep.method import UNITS, Ep, EpPosterior
from bnnbench.methods.ep.solver import Rows, State
from bnnbench.methods.networks.architectures import Linear, NormalCdf, ReLU, Sigmoid, Tanh
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.networks.priors import FixedPrecision
from tests.methods.problems import classification, stream

CDF = UNITS[NormalCdf]


def problem(
    rows=8, units=1, noise_std: float | None = 0.3, seed=0, features=1, prior: float | None = 1.0
):
    rng = stream(seed)
    inputs = torch.randn(rows, features, generator=rng, dtype=torch.float64)
    noise = 0.3 * torch.randn(rows, 1, generator=rng, dtype=torch.float64)
    targets = (1.5 * inputs[:, :1]).tanh() + noise
    network = mlp([units], 1, NormalCdf())
    known = None if prior is None else FixedPrecision(prior)
    return Problem(Split(inputs, targets), Gaussian(noise_std), network, known)


def fitted(of, seed=1, **settings):
    posterior = Ep(**settings).fit(of, stream(seed))
    assert isinstance(posterior, EpPosterior)
    return posterior


def on_a_grid(of, points):
    """Return the exact mean and deviation of a network of one unit; v is integrated exactly."""
    side = np.linspace(-5, 5, 161)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2) / math.sqrt(2)
    x, y = of.train.inputs[:, 0].numpy(), of.train.targets[:, 0].numpy()
    noise = of.likelihood.noise_std**2

    def units(at):
        h = grid[:, :1] * at + grid[:, 1:]
        return np.stack([special.ndtr(h), np.ones_like(h)], -1)

    a, b = units(x), units(points)
    precision = a.transpose(0, 2, 1) @ a / noise + 2 * np.eye(2)
    covariance = np.linalg.inv(precision)
    mean = (covariance @ (a.transpose(0, 2, 1) @ y / noise)[..., None])[..., 0]
    fit = (y @ y) / noise - np.einsum("gi,gij,gj->g", mean, precision, mean)
    log = stats.norm.logpdf(grid, scale=1 / math.sqrt(2)).sum(1)
    log = log - 0.5 * (fit + np.linalg.slogdet(precision)[1])
    weight = special.softmax(log)[:, None]
    output = (b @ mean[..., None])[..., 0]
    spread = np.einsum("gni,gij,gnj->gn", b, covariance, b)
    first = (weight * output).sum(0)
    return first, np.sqrt((weight * (spread + output**2)).sum(0) - first**2)


@pytest.mark.parametrize("std", [0.1, 1.0, 2.0])
@pytest.mark.parametrize("mean", [-1.5, 0.0, 0.7])
def test_moments_of_units_agree_with_closed_form(mean, std):
    centre, spread = torch.tensor([mean, std**2], dtype=torch.float64)
    first, variance, _ = solver.moments(centre, spread, CDF)
    h = mean / math.sqrt(1 + std**2)
    second = special.ndtr(h) - 2 * special.owens_t(h, 1 / math.sqrt(1 + 2 * std**2))
    # 32 nodes resolve a step less well if it is narrower than the distribution of its input.
    tolerance = 1e-6 if std <= 1 else 2e-5
    assert float(first) == pytest.approx(special.ndtr(h), abs=tolerance)
    assert float(variance) == pytest.approx(second - special.ndtr(h) ** 2, abs=tolerance)


def known_hidden_weights():
    """Return rows, sums of known hidden weights, and a state whose sites fix them."""
    rng = stream(3)
    inputs = torch.randn(12, 3, generator=rng, dtype=torch.float64)
    rows = Rows(solver.with_one(inputs), torch.randn(12, generator=rng, dtype=torch.float64))
    h = rows.inputs @ torch.randn(4, 5, generator=rng, dtype=torch.float64)
    certain = torch.full_like(h, 1e9)
    state = State(
        certain, 1e9 * h, torch.ones(12, 6, dtype=torch.float64), rows.targets * 0 + 1, 2.0, 4.0
    )
    return rows, h, state


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_with_known_hidden_weights_the_outer_weights_agree_with_linear_regression(power):
    rows, h, state = known_hidden_weights()
    new, _, _ = solver.refined(rows, state, solver.posterior(rows, state), CDF, power)
    weights = solver.posterior(rows, new)
    a, y = solver.with_one(CDF(h)).numpy(), rows.targets.numpy()
    precision = 4 * a.T @ a + 2 * 6 * np.eye(6)
    np.testing.assert_allclose(weights.outer_covariance, np.linalg.inv(precision), rtol=1e-5)
    np.testing.assert_allclose(
        weights.outer_mean, np.linalg.solve(precision, 4 * a.T @ y), atol=1e-5
    )


def test_the_moments_of_outputs_agree_with_draws_of_the_weights():
    posterior = fitted(problem(rows=20, units=3, features=2))
    weights, points = posterior.weights, torch.randn(6, 2, generator=stream(5), dtype=torch.float64)
    mean, variance = solver.outputs(weights, solver.with_one(points), CDF)
    rng, count = np.random.default_rng(0), 200_000
    units = [
        rng.multivariate_normal(m, c, count)
        for m, c in zip(weights.hidden_mean.numpy(), weights.hidden_covariance.numpy(), strict=True)
    ]
    outer = rng.multivariate_normal(
        weights.outer_mean.numpy(), weights.outer_covariance.numpy(), count
    )
    h = np.stack([w @ solver.with_one(points).numpy().T for w in units], -1)
    drawn = np.einsum("snk,sk->sn", special.ndtr(h), outer[:, :-1]) + outer[:, -1:]
    np.testing.assert_allclose(mean, drawn.mean(0), atol=5 * drawn.std() / count**0.5)
    np.testing.assert_allclose(variance.sqrt(), drawn.std(0), rtol=0.02)


def test_a_fixed_point_does_not_depend_on_damping():
    of = problem(rows=10, units=2)
    points = torch.linspace(-2, 2, 9, dtype=torch.float64)[:, None]
    slow, quick = (
        fitted(of, step=step, tolerance=1e-9, iterations=3000).predict(points, stream(0))
        for step in (0.2, 0.7)
    )
    torch.testing.assert_close(slow.mean, quick.mean, atol=1e-6, rtol=0)
    torch.testing.assert_close(slow.variance, quick.variance, atol=1e-6, rtol=0)


@pytest.mark.parametrize("power", [0.5, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_predictions_of_one_unit_come_near_the_exact_posterior(seed, power):
    of = problem(rows=8, seed=seed)
    points = np.linspace(-2, 2, 9)
    posterior = fitted(of, power=power)
    prediction = posterior.predict(torch.from_numpy(points)[:, None], stream(0))
    mean, std = on_a_grid(of, points)
    deviations = (prediction.variance[:, 0] - 0.3**2).sqrt().numpy()
    # EP is not exact: q has no dependence between layers, which widens it where rows are dense.
    np.testing.assert_allclose(prediction.mean[:, 0], mean, atol=0.7 * std.max())
    assert (deviations / std > 0.75).all()
    assert (deviations / std < 1.65).all()
    assert posterior.diagnostics["converged"] == 1


def test_rows_in_another_order_give_the_same_fit():
    of = problem(rows=25, units=6, features=3, noise_std=None, prior=None)
    order = torch.randperm(25, generator=stream(9))
    turned_rows = Split(of.train.inputs[order], of.train.targets[order])
    other = Problem(turned_rows, of.likelihood, of.architecture)
    points = torch.randn(7, 3, generator=stream(4), dtype=torch.float64)
    straight, turned = (fitted(each).predict(points, stream(0)) for each in (of, other))
    torch.testing.assert_close(straight.mean, turned.mean, atol=1e-6, rtol=0)
    torch.testing.assert_close(straight.variance, turned.variance, atol=1e-6, rtol=0)


@pytest.mark.parametrize("noise_std", [None, 0.3])
@pytest.mark.parametrize(("factor", "offset"), [(1e8, 0.0), (1e-8, 0.0), (1e4, 3e4)])
def test_the_unit_of_the_targets_makes_no_difference(noise_std, factor, offset):
    of = problem(rows=20, units=2, noise_std=noise_std, prior=None)
    known = None if noise_std is None else noise_std * factor
    train = Split(of.train.inputs, of.train.targets * factor + offset)
    other = Problem(train, Gaussian(known), of.architecture)
    one, two = fitted(of, tolerance=1e-8), fitted(other, tolerance=1e-8)
    first, second = (each.predict(of.train.inputs, stream(0)) for each in (one, two))
    expected = first.rescaled(offset, factor)
    torch.testing.assert_close(second.mean, expected.mean, rtol=1e-4, atol=1e-4 * factor)
    torch.testing.assert_close(second.variance, expected.variance, rtol=1e-4, atol=0)
    assert two.diagnostics["converged"] == one.diagnostics["converged"]
    assert two.diagnostics["noise_std"] == pytest.approx(
        one.diagnostics["noise_std"] * factor, rel=1e-4
    )


@pytest.mark.long
def test_two_hundred_small_data_sets_have_finite_predictions_and_say_if_they_converged():
    converged = []
    for seed in range(200):
        rows, features, units = 3 + seed % 27, 1 + seed % 8, 1 + seed % 10
        of = problem(rows, units, None, seed, features, None)
        posterior = fitted(of, seed=seed)
        prediction = posterior.predict(10 * of.train.inputs, stream(0))
        assert prediction.mean.isfinite().all()
        assert (prediction.variance > 0).all()
        assert all(math.isfinite(value) for value in posterior.diagnostics.values())
        converged.append(posterior.diagnostics["converged"])
    assert np.mean(converged) >= 0.95


def test_what_is_known_is_kept():
    diagnostics = fitted(problem(rows=15, units=2, prior=4.0)).diagnostics
    assert diagnostics["noise_std"] == pytest.approx(0.3)
    assert diagnostics["prior_precision"] == pytest.approx(4.0)


def test_what_it_does_not_cover_is_refused():
    of = problem()
    for network in (mlp([3, 3], 1, Tanh()), mlp([3], 1, Sigmoid())):
        with pytest.raises(Unsupported, match="needed"):
            Ep().fit(Problem(of.train, of.likelihood, network), stream(0))
    with pytest.raises(Unsupported, match="one real target"):
        Ep().fit(classification(), stream(0))
    with pytest.raises(ValueError, match="power"):
        Ep(power=0)


@pytest.mark.parametrize(("features", "units"), [(2000, 50), (500, 7)])
def test_covariances_that_would_take_minutes_are_refused(features, units):
    with pytest.raises(Unsupported, match=f"features for {units} hidden units.*got {features:,}"):
        fitted(problem(features=features, units=units))


@pytest.mark.parametrize("inputs", [torch.zeros(12, 2), torch.ones(1, 2)])
def test_no_unit_is_at_work_where_the_output_does_not_vary(inputs):
    targets = torch.randn(len(inputs), 1, generator=torch.Generator().manual_seed(0))
    layers = (Linear(5), ReLU(), Linear(1))
    problem = Problem(Split(inputs, targets), Gaussian(None), layers)
    posterior = Ep(iterations=5).fit(problem, torch.Generator().manual_seed(1))
    assert posterior.diagnostics["units_at_work"] == 0
