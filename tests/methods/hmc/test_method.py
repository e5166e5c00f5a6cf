"""HMC, compared with exact posteriors, quadrature and another program's sampler."""

from dataclasses import replace

import numpy as np
import pyro
import pyro.distributions as dist
import pytest
import torch
from pyro.infer import MCMC, NUTS

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.base import InferenceDiverged, Problem, Unsupported
from bnnbench.methods.hmc.compiled import CompiledPerceptron
from bnnbench.methods.hmc.convergence import effective_sample_size
from bnnbench.methods.hmc.method import Hmc, scaled_network
from bnnbench.methods.hmc.scaled_networks import AnyScaledNetwork
from bnnbench.methods.hmc.scaled_perceptron import ScaledPerceptron
from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    BatchNorm,
    Dropout,
    GaussianNoise,
    Layer,
    Linear,
    ReLU,
    Tanh,
)
from bnnbench.methods.networks.catalogue import mlp
from tests.methods.problems import design, exact_posterior, regression, stream, streams

LONG = Hmc(draws=3200, thinning=1, warmup=300)


def values(posterior, inputs):
    """Return the function values of all draws: chains, draws, points."""
    means = posterior.predict(inputs, stream(0)).means[..., 0]
    return means.double().view(4, -1, len(inputs)).numpy()


def assert_moments(draws, mean, variance, errors=4.5):
    """Compare means and variances within the Monte Carlo errors of this many effective draws."""
    effective = effective_sample_size(draws)
    flat = draws.reshape(-1, *draws.shape[2:])
    z = (flat.mean(0) - mean) / np.sqrt(variance / effective)
    assert np.abs(z).max() < errors
    squares = (draws - mean) ** 2
    spread = squares.reshape(flat.shape).std(0) / np.sqrt(effective_sample_size(squares))
    assert (np.abs(squares.reshape(flat.shape).mean(0) - variance) / spread).max() < errors


def test_linear_regression_of_known_precisions_has_its_gaussian_posterior(linear):
    posterior = replace(LONG, prior_precision=2.0).fit(linear, stream(0))
    columns = linear.train.inputs.shape[1] + 1
    mean, precision = exact_posterior(linear, 0.5, prior_precision=2.0 * columns)
    rows = design(linear)
    variance = (rows * torch.linalg.solve(precision, rows.T).T).sum(1)
    assert_moments(values(posterior, linear.train.inputs), (rows @ mean).numpy(), variance.numpy())
    assert posterior.diagnostics["converged"] == 1
    assert posterior.diagnostics["noise_std"] == pytest.approx(0.5)
    assert posterior.diagnostics["prior_precision"] == pytest.approx(2.0)


def test_linear_regression_of_unknown_precisions_has_the_moments_found_by_quadrature():
    problem = regression(rows=12, architecture=(Linear(1),), dtype=torch.float64)
    posterior = LONG.fit(problem, stream(1))
    rows, targets = design(problem) / 5**0.5, problem.train.targets
    grid = torch.linspace(-3.5, 3.5, 161, dtype=torch.float64)
    weight = torch.empty(161, 161, dtype=torch.float64)
    mean = torch.empty(161, 161, 12, dtype=torch.float64)
    variance = torch.empty_like(mean)
    prior = dist.Gamma(torch.tensor(6.0).double(), torch.tensor(6.0).double())
    identity = torch.eye(5, dtype=torch.float64)
    for i, noise in enumerate(grid.exp()):
        precision = noise * rows.T @ rows + grid.exp()[:, None, None] * identity
        covariance = torch.linalg.inv(precision)
        mean[i] = (rows @ covariance @ rows.T @ targets * noise)[..., 0]
        variance[i] = (rows @ covariance @ rows.mT).diagonal(dim1=1, dim2=2)
        of_targets = torch.eye(12).double() / noise + rows @ rows.T / grid.exp()[:, None, None]
        evidence = dist.MultivariateNormal(torch.zeros(12).double(), of_targets)
        weight[i] = evidence.log_prob(targets[:, 0]) + prior.log_prob(noise) + grid[i]
        weight[i] += prior.log_prob(grid.exp()) + grid
    weight = weight.flatten().softmax(0)
    first = weight @ mean.flatten(0, 1)
    second = weight @ (mean.square() + variance).flatten(0, 1)
    found = values(posterior, problem.train.inputs)
    assert_moments(found, first.numpy(), (second - first**2).numpy())
    noise = grid.exp().repeat_interleave(161)
    expected = float(weight @ noise), float(weight @ noise.square())
    draws = posterior.noise_precision.view(4, -1, 1).numpy()
    assert_moments(draws, expected[0], expected[1] - expected[0] ** 2)
    lam = float(weight @ grid.exp().repeat(161))
    assert posterior.diagnostics["prior_precision"] == pytest.approx(lam, rel=0.05)


@pytest.mark.long
def test_a_small_network_has_the_predictions_of_pyros_nuts():
    inputs = torch.tensor([[-1.5], [-0.8], [0.1], [0.4], [1.3], [2.0]], dtype=torch.float64)
    targets = torch.sin(2 * inputs)
    problem = Problem(Split(inputs, targets), Gaussian(), mlp([5], 1, activation=Tanh()))
    grid = torch.linspace(-2.5, 2.5, 7, dtype=torch.float64)[:, None]
    ours = values(LONG.fit(problem, stream(0)), grid)
    theirs = pyro_draws(inputs, targets, grid)
    for function in (lambda f: f, lambda f: (f - ours.mean((0, 1))) ** 2):
        one, other = function(ours), function(theirs)
        error = sum(v.var((0, 1)) / effective_sample_size(v) for v in (one, other)) ** 0.5
        assert (np.abs(one.mean((0, 1)) - other.mean((0, 1))) / error).max() < 4.5


def pyro_draws(inputs, targets, grid):
    def output(x, first, second):
        ones = torch.ones_like(x[:, :1])
        hidden = torch.tanh(torch.cat([x, ones], 1) @ first.T / 2**0.5)
        return torch.cat([hidden, ones], 1) @ second / 6**0.5

    def model():
        gamma = dist.Gamma(torch.tensor(6.0).double(), torch.tensor(6.0).double())
        scale = pyro.sample("lambda", gamma) ** -0.5
        noise = pyro.sample("gamma", gamma) ** -0.5
        first = pyro.sample("first", dist.Normal(torch.zeros(5, 2).double(), 1).to_event(2))
        second = pyro.sample("second", dist.Normal(torch.zeros(6).double(), 1).to_event(1))
        mean = output(inputs, scale * first, scale * second)
        pyro.sample("y", dist.Normal(mean, noise).to_event(1), obs=targets[:, 0])

    with torch.random.fork_rng():
        pyro.set_rng_seed(0)
        sampler = MCMC(
            NUTS(model, max_tree_depth=4),
            num_samples=300,
            warmup_steps=150,
            disable_progbar=True,
        )
        sampler.run()
    drawn = sampler.get_samples()
    scale = drawn["lambda"] ** -0.5
    found = [
        output(grid, s * first, s * second)
        for s, first, second in zip(scale, drawn["first"], drawn["second"], strict=True)
    ]
    return torch.stack(found)[None].numpy()


def test_logistic_regression_has_the_probabilities_found_by_quadrature():
    inputs = torch.tensor([[-1.2], [-0.4], [0.3], [0.9], [1.5]], dtype=torch.float64)
    labels = torch.tensor([0, 0, 1, 0, 1])
    problem = Problem(Split(inputs, labels), Categorical(2), mlp([], 2))
    prior_precision = 0.2
    posterior = replace(LONG, prior_precision=prior_precision).fit(problem, stream(0))

    # The difference of the logits is linear, with the prior variance of a difference.
    std = (2 / prior_precision) ** 0.5
    grid = torch.linspace(-8 * std, 8 * std, 401, dtype=torch.float64)
    slope, offset = torch.meshgrid(grid, grid, indexing="ij")
    logits = (slope.flatten()[:, None] * inputs[:, 0] + offset.flatten()[:, None]) / 2**0.5
    signs = 2.0 * labels - 1
    weight = torch.nn.functional.logsigmoid(signs * logits).sum(1)
    weight += dist.Normal(0, std).log_prob(torch.stack([slope, offset])).sum(0).flatten()
    probabilities, weight = logits.sigmoid(), weight.softmax(0)
    mean = weight @ probabilities
    variance = weight @ (probabilities - mean).square()
    draws = posterior.predict(inputs, stream(0)).log_probs[..., 1].exp()
    assert_moments(draws.view(4, -1, 5).numpy(), mean.numpy(), variance.numpy())
    assert "noise_std" not in posterior.diagnostics


def test_chains_in_modes_that_they_cannot_leave_are_marked():
    inputs = torch.tensor([[-2.0], [-1.0], [0.0], [1.0], [2.0]], dtype=torch.float64)
    problem = Problem(Split(inputs, inputs.abs()), Gaussian(0.1), mlp([1], 1))
    posterior = Hmc(draws=400, warmup=200, chains=8, thinning=1).fit(problem, stream(3))
    ends = posterior.predict(inputs[[0, -1]], stream(0)).mean.flatten()
    assert (ends - 2).abs().max() > 0.3  # one unit has a slope only on one side
    assert posterior.diagnostics["r_hat"] > 1.05
    assert posterior.diagnostics["converged"] == 0


def test_too_few_draws_to_tell_are_not_taken_for_converged(linear):
    diagnostics = Hmc(draws=8, thinning=1, warmup=30).fit(linear, stream(0)).diagnostics
    assert diagnostics["converged"] == 0
    assert "r_hat" not in diagnostics


@pytest.mark.parametrize("architecture", [mlp([50], 1), mlp([20, 9], 1, activation=Tanh())])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_problems_that_share_and_straddle_blocks_are_fitted_as_if_alone(architecture, dtype):
    problems = [
        regression(seed, rows=455, architecture=architecture, dtype=dtype) for seed in range(5)
    ]
    method = Hmc(draws=12, thinning=1, chains=3, warmup=22, leapfrog_steps=6)
    together = method.fit_many(problems, streams(*range(5)))
    for seed, (problem, fitted) in enumerate(zip(problems, together, strict=True)):
        alone = method.fit(problem, stream(seed))
        assert not isinstance(fitted, InferenceDiverged)
        assert fitted.diagnostics == alone.diagnostics
        one, other = (p.predict(problem.train.inputs[:9], stream(0)) for p in (fitted, alone))
        assert torch.equal(one.means, other.means)
        assert torch.equal(one.variances, other.variances)


@pytest.mark.parametrize(
    ("activation", "kind"), [(Tanh(), ScaledPerceptron), (ReLU(), CompiledPerceptron)]
)
def test_written_out_and_automatic_gradients_sample_one_posterior(activation, kind, monkeypatch):
    inputs = torch.linspace(-1, 1, 8, dtype=torch.float64)[:, None]
    network = mlp([3], 1, activation=activation)
    problem = Problem(Split(inputs, inputs.square()), Gaussian(0.2), network)
    assert type(scaled_network(problem)) is kind
    method = Hmc(draws=400, thinning=1, warmup=60)
    written = values(method.fit(problem, stream(0)), inputs)
    automatic_network = "bnnbench.methods.hmc.method.scaled_network"
    monkeypatch.setattr(automatic_network, lambda problem, _: AnyScaledNetwork.of(problem))
    automatic = values(method.fit(problem, stream(1)), inputs)
    error = sum(v.var((0, 1)) / effective_sample_size(v) for v in (written, automatic)) ** 0.5
    assert (np.abs(written.mean((0, 1)) - automatic.mean((0, 1))) / error).max() < 4.5
    np.testing.assert_allclose(written.std((0, 1)), automatic.std((0, 1)), rtol=0.25)


@pytest.mark.parametrize("layer", [Dropout(0.1), GaussianNoise(0.1), BatchNorm(), AnalyticNorm()])
def test_networks_that_are_no_function_of_one_input_are_refused(layer: Layer):
    problem = regression(architecture=(Linear(3), layer, ReLU(), Linear(1)))
    with pytest.raises(Unsupported, match="needed a network"):
        Hmc().fit(problem, stream(0))


def test_data_without_finite_density_diverge():
    problem = regression()
    infinite = Split(problem.train.inputs * torch.inf, problem.train.targets)
    with pytest.raises(InferenceDiverged, match="diverged"):
        Hmc(draws=16, warmup=5).fit(replace(problem, train=infinite), stream(0))


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"draws": 10}, "multiple of chains"),
        ({"trajectory_length": 0.0}, "trajectory_length"),
        ({"target_acceptance": 1.0}, "target_acceptance"),
        ({"noise_precision": -1.0}, "noise_precision"),
        ({"warmup": -1}, "warmup"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, match):
    with pytest.raises(ValueError, match=match):
        Hmc(**settings)
