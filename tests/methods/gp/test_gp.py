"""Gaussian processes of inducing points against exact ones, where gpytorch is installed."""

import dataclasses
import sys

import numpy as np
import pytest
import torch
from scipy.linalg import cho_factor, cho_solve
from torch import Tensor

from bnnbench.datasets.base import Split
from bnnbench.methods.base import InferenceDiverged, Method, PackageMissing, Problem, Unsupported
from bnnbench.methods.gp.deep import DeepGp
from bnnbench.methods.gp.deep_kernel import DeepKernel
from bnnbench.methods.gp.orthogonal import OrthogonalGp
from bnnbench.methods.gp.package import CURE, import_gpytorch
from bnnbench.methods.gp.training import GpPosterior, GpTraining, deterministic, random_rows
from bnnbench.methods.networks.architectures import Linear
from tests.methods.problems import classification, regression, stream

ROWS = 25
METHODS = [
    DeepKernel(training=GpTraining(epochs=2)),
    OrthogonalGp(training=GpTraining(epochs=2)),
    DeepGp(draws=3, training=GpTraining(epochs=2)),
]
needs_gpytorch = pytest.mark.usefixtures("_gpytorch")


@pytest.fixture
def _gpytorch():
    try:
        import_gpytorch()
    except PackageMissing as missing:
        pytest.skip(str(missing))


def curve() -> Problem:
    """Return a noisy curve of two inputs, in float64."""
    flat = regression(rows=ROWS, dtype=torch.float64)
    inputs = flat.train.inputs[:, :2]
    noise = torch.randn(ROWS, 1, generator=stream(8), dtype=torch.float64)
    targets = (2 * inputs[:, :1]).sin() + 0.5 * inputs[:, 1:] + 0.2 * noise
    return dataclasses.replace(flat, train=Split(inputs, targets))


def exact(problem: Problem, gp, noise: float, new: Tensor) -> tuple[Tensor, Tensor]:
    """Return predictive means and variances of the exact process, by formulas of our own."""
    lengths = gp.covar_module.base_kernel.lengthscale.detach()[0]
    scale = float(gp.covar_module.outputscale.detach())
    mean = float(gp.mean_module.constant.detach())

    def kernel(a: Tensor, b: Tensor) -> np.ndarray:
        if gp.embedding is not None:
            a, b = gp.embedding(a), gp.embedding(b)
        gaps = (a[:, None] - b[None]) / lengths
        return scale * np.exp(-0.5 * gaps.square().sum(-1).detach().numpy())

    x, y = problem.train.inputs, problem.train.targets[:, 0].numpy() - mean
    factor = cho_factor(kernel(x, x) + noise * np.eye(len(x)))
    cross = kernel(new, x)
    means = mean + cross @ cho_solve(factor, y)
    variances = scale + noise - (cross * cho_solve(factor, cross.T).T).sum(1)
    return torch.tensor(means), torch.tensor(variances)


def fitted_values_alone(model, problem: Problem) -> GpPosterior:
    """Return the posterior whose inducing values alone are at the optimum."""
    model.requires_grad_(False)
    values = list(model.outer.variational_strategy._variational_distribution.parameters())
    if model.further_mean:
        values.append(model.further_mean.weights)
    for value in values:
        value.requires_grad_()
    x, y = problem.train.inputs, problem.train.targets[:, 0]
    optimiser = torch.optim.LBFGS(
        values, max_iter=200, tolerance_grad=1e-7, tolerance_change=1e-11,
        line_search_fn="strong_wolfe",
    )  # fmt: skip

    def closure() -> Tensor:
        optimiser.zero_grad()
        with deterministic():
            loss = model.loss(x, y, None, len(x))
            loss.backward()
        return loss.detach()

    model.train()
    optimiser.step(closure)
    model.eval()
    return GpPosterior(model, 1)


@needs_gpytorch
@pytest.mark.parametrize("kind", ["plain", "embedded", "decoupled"])
def test_with_all_rows_as_inducing_points_it_is_the_exact_process(kind):
    from bnnbench.methods.gp import models

    problem = curve()
    x = problem.train.inputs
    options = {}
    if kind == "embedded":
        network = models.TorchNetwork((Linear(3),), (2,))
        weights = 2 * network.initial_weights([stream(1)], dtype=torch.float64)
        options["embedding"] = models.NetworkModule(network, weights)
    gp = models.SparseGp(x, **options)
    gp.mean_module.constant.data.fill_(0.3)
    gp.covar_module.outputscale = 1.3
    mean = models.OrthogonalMean(gp, random_rows(problem, 6, stream(2)) + 0.3)
    model = models.GpRegression(gp, 0.3, further_mean=mean if kind == "decoupled" else None)
    posterior = fitted_values_alone(model, problem)
    new = torch.randn(7, 2, generator=stream(3), dtype=torch.float64)
    prediction = posterior.predict(new, stream(4))
    expected, variance = exact(problem, gp, 0.09, new)
    torch.testing.assert_close(prediction.mean[:, 0], expected, rtol=0, atol=2e-3)
    torch.testing.assert_close(prediction.variance[:, 0], variance, rtol=5e-3, atol=0)


def least_loss(inducing: int, mean_inducing: int) -> float:
    """Return the loss with optimal inducing values, of a kernel and noise that stay."""
    from bnnbench.methods.gp import models

    problem = curve()
    gp = models.SparseGp(random_rows(problem, inducing, stream(5)))
    mean = models.OrthogonalMean(gp, random_rows(problem, mean_inducing, stream(6)))
    model = models.GpRegression(gp, 0.3, further_mean=mean if mean_inducing else None)
    fitted_values_alone(model, problem)
    model.train()
    with deterministic(), torch.no_grad():
        return float(model.loss(problem.train.inputs, problem.train.targets[:, 0], None, ROWS))


@pytest.mark.long
@needs_gpytorch
def test_losses_bound_the_evidence_and_reach_it_with_all_rows():
    from bnnbench.methods.gp import models

    problem = curve()
    x = problem.train.inputs
    covariance = models.SparseGp(x).covariance(x, x).detach()
    covariance = covariance + 0.09 * torch.eye(ROWS, dtype=torch.float64)
    zero = torch.zeros(ROWS, dtype=torch.float64)
    law = torch.distributions.MultivariateNormal(zero, covariance)
    least = -float(law.log_prob(problem.train.targets[:, 0])) / ROWS
    four, twelve, every = (least_loss(count, 0) for count in (4, 12, ROWS))
    assert four > twelve > every > least
    assert every == pytest.approx(least, abs=1e-3)
    decoupled = least_loss(4, ROWS)
    assert four - 0.1 > decoupled > least
    assert least_loss(ROWS, 6) == pytest.approx(least, abs=1e-3)


@needs_gpytorch
def test_the_further_mean_is_what_inducing_points_leave_of_the_kernel():
    from bnnbench.methods.gp import models

    problem = curve()
    x = problem.train.inputs
    gp = models.SparseGp(x[:5])
    mean = models.OrthogonalMean(gp, x[5:9])
    mean.weights.data.copy_(torch.randn(4, generator=stream(1)))
    whole = gp.covariance(x, x).detach()
    inverse = torch.linalg.inv(whole[:5, :5])
    left = whole - whole[:, :5] @ inverse @ whole[:5]
    weights = mean.weights.detach()
    torch.testing.assert_close(mean(x).detach(), left[:, 5:9] @ weights, rtol=0, atol=1e-4)
    expected = 0.5 * weights @ left[5:9, 5:9] @ weights
    torch.testing.assert_close(mean.kl().detach(), expected, rtol=1e-4, atol=0)
    assert mean(x[:5]).abs().max() < 1e-4


@needs_gpytorch
def test_a_deep_process_of_certain_hidden_ones_is_that_of_its_inputs():
    from bnnbench.methods.gp import models

    problem = curve()
    x = problem.train.inputs
    deep = models.two_layers(x, 2, 0.3)
    deep.inner.covar_module.outputscale = 1e-8
    alone = models.GpRegression(deep.outer, 0.3)
    standard = torch.randn(3, 1, 2, generator=stream(6), dtype=torch.float64)
    deep.eval()
    with torch.no_grad():
        mean, variance = deep.latent(x, standard)
        expected, spread = alone.latent(x, None)
    torch.testing.assert_close(mean, expected.expand(3, -1), rtol=0, atol=1e-3)
    torch.testing.assert_close(variance, spread.expand(3, -1), rtol=1e-3, atol=1e-6)


@needs_gpytorch
def test_the_bound_of_a_deep_process_averages_over_draws():
    from bnnbench.methods.gp import models

    problem = curve()
    x, y = problem.train.inputs, problem.train.targets[:, 0]
    deep = models.two_layers(x[:8], 2, 0.3)
    inner, outer = (
        gp.variational_strategy._variational_distribution for gp in (deep.inner, deep.outer)
    )
    inner.chol_variational_covar.data.mul_(50)
    outer.variational_mean.data.copy_(torch.randn(8, generator=stream(7)))
    standard = torch.randn(2, ROWS, 2, generator=stream(6), dtype=torch.float64)
    with torch.no_grad():
        both = float(deep.loss(x, y, standard, ROWS))
        apart = [float(deep.loss(x, y, part, ROWS)) for part in standard.split(1)]
    assert both == pytest.approx(sum(apart) / 2, rel=1e-9)
    assert abs(apart[0] - apart[1]) > 1e-4


@pytest.mark.long
@needs_gpytorch
@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_training_explains_a_curve(method: Method):
    problem = curve()
    training = GpTraining(learning_rate=0.05, epochs=100, batch_size=ROWS)
    prediction = (
        dataclasses.replace(method, training=training)
        .fit(problem, stream(0))
        .predict(problem.train.inputs, stream(1))
    )
    error = (prediction.mean - problem.train.targets).square().mean().sqrt()
    assert error < 0.4 * problem.train.targets.std()
    assert prediction.log_prob(problem.train.targets).mean() > -0.6


@needs_gpytorch
@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_it_knows_the_noise_that_the_problem_states(method: Method):
    known = regression(noise_std=0.4)
    posterior = method.fit(known, stream(0))
    assert posterior.diagnostics["noise_std"] == pytest.approx(0.4, rel=1e-6)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_what_it_does_not_cover_is_refused(method: Method):
    with pytest.raises(Unsupported, match="needed a regression of one target"):
        method.fit(classification(), stream(0))


def test_infinite_inputs_are_a_divergence():
    problem = regression()
    problem.train.inputs[3, 1] = torch.inf
    with pytest.raises(InferenceDiverged):
        OrthogonalGp().fit(problem, stream(0))


def test_without_the_package_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gpytorch", None)
    with pytest.raises(PackageMissing, match=r"pip install bnnbench\[gp\]"):
        DeepGp().fit(regression(), stream(0))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_a_method_says_what_to_install(method, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert method.lacks == f"needs gpytorch: {CURE}"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert method.lacks == ""
