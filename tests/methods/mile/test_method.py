"""Both samplers, compared with exact posteriors, quadrature and each other."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.distributions import Normal

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.hmc.convergence import effective_sample_size
from bnnbench.methods.mile.companion import HeteroscedasticHmc
from bnnbench.methods.mile.members import Stopping
from bnnbench.methods.mile.method import Mile
from bnnbench.methods.mile.model import Model
from bnnbench.methods.networks.architectures import Linear, Tanh
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.networks.priors import FixedPrecision
from bnnbench.methods.tuning.fits import fits_as_one_call
from bnnbench.methods.tuning.method import Tuned
from bnnbench.methods.tuning.space import configured
from tests.methods.problems import classification, regression, stream, streams

FAITHFUL = {"energy_variance": (5e-4, 5e-4)}
SHORT = Mile(draws=16, thinning=2, warmup=40, epochs=3, chains=4)


def noise_alone(rows=12):
    """Return a regression whose inputs are 0: only the two biases have a likelihood."""
    targets = 0.5 + 0.6 * torch.randn(rows, 1, generator=stream(0), dtype=torch.float64)
    inputs = torch.zeros(rows, 1, dtype=torch.float64)
    return Problem(Split(inputs, targets), Gaussian(), (Linear(1),))


def moments_by_quadrature(problem):
    """Return the posterior means of the mean, its square, and the noise variance."""
    grid = torch.linspace(-6, 6, 1201, dtype=torch.float64)
    mean, raw = torch.meshgrid(grid, grid, indexing="ij")
    std = torch.nn.functional.softplus(raw) + 1e-6
    log_density = Normal(0.0, 1.0).log_prob(mean) + Normal(0.0, 1.0).log_prob(raw)
    for target in problem.train.targets.flatten():
        log_density += Normal(mean, std).log_prob(target)
    weight = log_density.flatten().softmax(0)
    return [float(weight @ values.flatten()) for values in (mean, mean.square(), std.square())]


@pytest.mark.parametrize(
    "method",
    [
        HeteroscedasticHmc(draws=800, thinning=1, warmup=100, epochs=5),
        Mile(draws=1600, thinning=1, warmup=300, epochs=5, **FAITHFUL),
    ],
)
def test_a_mean_and_a_standard_deviation_have_the_moments_found_by_quadrature(method):
    problem = noise_alone()
    predicted = method.fit(problem, stream(1)).predict(problem.train.inputs[:1], stream(2))
    means, variances = predicted.means.flatten(), predicted.variances.flatten()
    for draws, expected in zip(
        (means, means.square(), variances), moments_by_quadrature(problem), strict=True
    ):
        by_chain = draws.view(method.chains, -1, 1).numpy()
        error = float(draws.std()) / float(effective_sample_size(by_chain)[0]) ** 0.5
        assert abs(float(draws.mean()) - expected) < 4 * error + 0.005


def linear_model():
    """Return 40 rows of ten known features, and the exact posterior's mean and deviations."""
    rng = np.random.default_rng(3)
    inputs, weights = rng.normal(size=(40, 10)), rng.normal(size=10)
    targets = inputs @ weights + 0.5 * rng.normal(size=40)
    split = Split(torch.from_numpy(inputs), torch.from_numpy(targets)[:, None])
    problem = Problem(split, Gaussian(0.5), (Linear(1, bias=False),), FixedPrecision(0.1))
    covariance = np.linalg.inv(inputs.T @ inputs / 0.25 + np.eye(10))
    return problem, covariance @ inputs.T @ targets / 0.25, np.sqrt(np.diag(covariance))


def fitted_linear(steps, **settings):
    """Return means and variances of the weights, relative to the exact ones, and diagnostics."""
    problem, mean, std = linear_model()
    method = Mile(chains=32, draws=32 * steps, thinning=1, epochs=5, **settings)
    posterior = method.fit(problem, stream(0))
    weights = posterior.weights.numpy()
    return (weights.mean(0) - mean) / std, weights.var(0) / std**2, posterior.diagnostics


@pytest.mark.long
def test_small_energy_errors_sample_a_linear_model():
    shift, ratio, diagnostics = fitted_linear(1200, warmup=1000, **FAITHFUL)
    assert np.abs(shift).max() < 0.05
    assert ratio.min() > 0.95
    assert ratio.max() < 1.03
    assert 2.5e-4 < diagnostics["energy_variance"] < 1e-3
    assert diagnostics["converged"] == 1
    assert diagnostics["failed_steps"] == 0


@pytest.mark.long
def test_large_energy_errors_are_too_narrow():
    _, ratio, diagnostics = fitted_linear(1000, warmup=1000, energy_variance=(0.5, 0.5))
    assert 0.85 < ratio.mean() < 0.93  # 0.894 in another implementation
    assert diagnostics["energy_variance"] == pytest.approx(0.23, rel=0.4)


@pytest.mark.long
@pytest.mark.parametrize("likelihood", [Gaussian(), Categorical(2)])
def test_both_samplers_have_one_posterior_of_a_small_network(likelihood):
    inputs = torch.linspace(-2, 2, 14, dtype=torch.float64)[:, None]
    real = torch.sin(2 * inputs) + 0.3 * inputs * torch.randn(14, 1, generator=stream(3))
    targets = (real[:, 0] > 0).long() if isinstance(likelihood, Categorical) else real.double()
    problem = Problem(
        Split(inputs, targets), likelihood, mlp([3], len(likelihood_units(likelihood)), Tanh())
    )
    hmc = HeteroscedasticHmc(draws=1600, thinning=1, warmup=200, leapfrog_steps=60, epochs=30)
    langevin = Mile(draws=16_000, thinning=1, warmup=800, chains=32, epochs=30, **FAITHFUL)
    one, other = (
        traced(method.fit(problem, stream(4)), method.chains, inputs) for method in (hmc, langevin)
    )
    error = sum(v.var((0, 1)) / effective_sample_size(v) for v in (one, other)) ** 0.5
    assert (np.abs(one.mean((0, 1)) - other.mean((0, 1))) / error).max() < 4.5


def likelihood_units(likelihood):
    return range(likelihood.classes) if isinstance(likelihood, Categorical) else range(1)


def traced(posterior, chains, inputs):
    """Return means and log variances, or probabilities: chains, draws, values."""
    predicted = posterior.predict(inputs, stream(0))
    if isinstance(posterior.likelihood, Categorical):
        values = predicted.log_probs[..., 0].exp()
    else:
        values = torch.cat([predicted.means, predicted.variances.log()], 1)[..., 0]
    return values.unflatten(0, (chains, -1)).double().numpy()


def test_settings_side_by_side_are_fitted_as_if_alone():
    problems = [regression(seed) for seed in (0, 1)]
    variants = [replace(SHORT, prior_factor=f, **FAITHFUL) for f in (1.0, 4.0)] + [SHORT]
    variants.append(replace(SHORT, warmup=20))
    rng, other = streams(5, 6)
    cases = [
        (variants[0], problems[0], rng),
        (variants[2], problems[0], rng),
        (variants[1], problems[1], other),
        (variants[3], problems[1], other),
    ]
    together = Mile.fit_variants(*map(list, zip(*cases, strict=True)))
    for fitted, (variant, problem, _), seed in zip(together, cases, (5, 5, 6, 6), strict=True):
        alone = variant.fit(problem, stream(seed))
        assert torch.equal(fitted.weights, alone.weights)
        assert fitted.diagnostics == alone.diagnostics


def test_a_search_fits_all_its_trials_in_one_call():
    assert fits_as_one_call(SHORT)
    tuned = Tuned(SHORT, trials=2, lengths=(10, 20), halving=True)
    fitted = tuned.fit(regression(), stream(0))
    length = fitted.search.lengths[fitted.rung]
    chosen = configured(SHORT, {**fitted.search.settings[fitted.trial], "warmup": length})
    alone = chosen.fit(regression(), stream(0))
    inputs = regression().train.inputs
    one, other = (p.predict(inputs, stream(1)) for p in (fitted, alone))
    assert torch.equal(one.mean, other.mean)


def test_stacks_of_any_size_give_one_answer(monkeypatch):
    problems, seeds = [regression(seed) for seed in range(3)], range(3)
    together = SHORT.fit_many(problems, streams(*seeds))
    monkeypatch.setattr("bnnbench.methods.mile.fits.MOST_NUMBERS", 1)
    for one, other in zip(together, SHORT.fit_many(problems, streams(*seeds)), strict=True):
        assert torch.equal(one.weights, other.weights)


def test_a_networks_weights_are_those_of_least_held_out_loss_before_it_stopped():
    """Held-out targets are 0 and the bias is the mean: its square decides the order of losses."""
    problem = noise_alone(rows=3)
    model = Model.of(replace(problem, likelihood=Gaussian(1.0)))
    rows = Split(problem.train.inputs, torch.zeros(3, 1, dtype=torch.float64))
    weights = torch.tensor([[0.0, 5.0], [0.0, 5.0]]).double()
    stopping = Stopping(model, weights, [rows, rows], patience=2)
    path = [(4.0, 4.0), (6.0, 3.0), (7.0, 2.0), (1.0, 2.5), (0.0, 1.5), (0.0, 9.0), (0.0, 9.0)]
    stopped = []
    for epoch, biases in enumerate(path):
        weights[:, 1] = torch.tensor(biases)
        stopped.append(stopping(epoch + 1))
    assert stopping.best[:, 1].tolist() == [4.0, 1.5]
    assert stopped == [False] * 6 + [True]


def test_every_kept_state_is_a_component_of_the_prediction():
    for problem in (regression(), classification()):
        posterior = SHORT.fit(problem, stream(0))
        predicted = posterior.predict(problem.train.inputs, stream(1))
        assert posterior.weights.shape[0] == 16
        draws = predicted.means if hasattr(predicted, "means") else predicted.log_probs
        assert draws.shape[0] == 16
        assert {"step_size", "decoherence_length", "energy_variance", "r_hat"} <= set(
            posterior.diagnostics
        )


def test_a_single_row_cannot_stop_a_network():
    problem = regression(rows=1)
    with pytest.raises(Unsupported, match="at least 2 training rows"):
        SHORT.fit(problem, stream(0))


@pytest.mark.parametrize(
    ("kind", "settings", "match"),
    [
        (Mile, {"draws": 10}, "multiple of chains"),
        (Mile, {"energy_variance": (0.5, 0.0)}, "energy_variance"),
        (Mile, {"prior_factor": 0.0}, "prior_factor"),
        (Mile, {"validation_share": 1.0}, "validation_share"),
        (HeteroscedasticHmc, {"draws": 10}, "multiple of chains"),
        (HeteroscedasticHmc, {"prior_factor": -1.0}, "prior_factor"),
    ],
)
def test_settings_that_make_no_sense_are_refused(kind, settings, match):
    with pytest.raises(ValueError, match=match):
        kind(**settings)
