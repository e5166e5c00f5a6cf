"""The diagonal Laplace approximation, by closed forms and its own equations."""

import math

import pytest
import torch
from torch.nn import functional

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.base import InferenceDiverged, Problem
from bnnbench.methods.networks.architectures import ReLU, Tanh
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.row_by_row.laplace_diagonal import PRECISIONS, LaplaceDiagonal, most_probable
from bnnbench.methods.row_by_row.perceptron import RowPerceptron
from tests.methods.problems import classification, exact_posterior, regression, stream

LINEAR = mlp([], 1)


def fitted(problem, **settings):
    return LaplaceDiagonal(**settings).fit(problem, stream(0))


def weights_of(problem, posterior):
    rows = RowPerceptron(problem)
    return rows.in_torch(posterior.weights), rows.in_torch(posterior.precision)


@pytest.mark.parametrize("noise_std", [None, 0.5])
def test_a_linear_network_has_the_exact_mean_and_the_diagonal_of_the_exact_precision(noise_std):
    problem = regression(
        rows=60, noise_std=noise_std, true_std=0.5, architecture=LINEAR, dtype=torch.float64
    )
    posterior = fitted(problem)
    alpha, noise = (posterior.diagnostics[name] for name in ("prior_precision", "noise_std"))
    if noise_std is not None:
        assert noise == pytest.approx(noise_std, rel=1e-12)
    mean, precision = exact_posterior(problem, noise, alpha)
    weights, diagonal = weights_of(problem, posterior)
    torch.testing.assert_close(weights, mean, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(diagonal, precision.diagonal(), rtol=1e-10, atol=0)


@pytest.mark.parametrize("architecture", [LINEAR, mlp([4], 1, activation=Tanh())], ids=str)
def test_settled_precisions_satisfy_their_equations(architecture):
    problem = regression(rows=200, architecture=architecture, dtype=torch.float64)
    posterior = fitted(problem, evidence_updates=1000)
    assert posterior.diagnostics["converged"] == 1
    assert posterior.diagnostics["guarded_updates"] == 0
    alpha = posterior.diagnostics["prior_precision"]
    beta = posterior.diagnostics["noise_std"] ** -2
    weights, precision = weights_of(problem, posterior)
    network, inputs = RowPerceptron(problem).network, problem.train.inputs[None]
    jacobian = torch.func.jacrev(lambda w: network(w[None], inputs)[0, :, 0])(weights)
    curvature = beta * jacobian.square().sum(0)
    torch.testing.assert_close(precision, curvature + alpha, rtol=1e-9, atol=0)
    gamma = float((curvature / (curvature + alpha)).sum())
    error = float((problem.train.targets - network(weights[None], inputs)[0]).square().sum())
    assert posterior.diagnostics["effective_parameters"] == pytest.approx(gamma, rel=1e-9)
    assert alpha == pytest.approx(gamma / float(weights.square().sum()), rel=2e-3)
    assert beta == pytest.approx((200 - gamma) / error, rel=2e-3)


def test_learned_precisions_are_near_those_the_data_were_drawn_with():
    """A linear truth of 40 weights with variance 0.25 and noise of standard deviation 0.5."""
    rng = stream(3)
    inputs = torch.randn(2000, 40, generator=rng, dtype=torch.float64)
    slopes = 0.5 * torch.randn(40, 1, generator=rng, dtype=torch.float64)
    noise = 0.5 * torch.randn(2000, 1, generator=rng, dtype=torch.float64)
    problem = Problem(Split(inputs, inputs @ slopes + noise), Gaussian(), LINEAR)
    posterior = fitted(problem)
    assert posterior.diagnostics["noise_std"] == pytest.approx(0.5, rel=0.05)
    assert posterior.diagnostics["prior_precision"] == pytest.approx(
        41 / float(slopes.square().sum()), rel=0.02
    )


@pytest.mark.parametrize("activation", [Tanh(), ReLU()], ids=str)
def test_trained_weights_are_a_minimum_of_the_penalised_loss(activation):
    problem = regression(architecture=mlp([5], 1, activation=activation), dtype=torch.float64)
    rows = RowPerceptron(problem)
    found, loss = most_probable(rows, rows.initial(stream(0)), 0.7, 4.0, 2000)
    weights = rows.in_torch(found).requires_grad_()
    residuals = rows.network(weights[None], problem.train.inputs[None])[0] - problem.train.targets
    objective = 4.0 * 0.5 * residuals.square().sum() + 0.35 * weights.square().sum()
    assert loss == pytest.approx(float(0.5 * residuals.detach().square().sum()), rel=1e-10)
    if activation == Tanh():
        (gradient,) = torch.autograd.grad(objective, weights)
        assert gradient.abs().max() < 1e-3
    for seed in range(5):
        shift = 1e-2 * torch.randn(len(weights), generator=stream(seed), dtype=torch.float64)
        moved = weights.detach() + shift
        there = rows.network(moved[None], problem.train.inputs[None])[0] - problem.train.targets
        assert 2.0 * there.square().sum() + 0.35 * moved.square().sum() > objective


@pytest.mark.parametrize("activation", [Tanh(), ReLU()], ids=str)
def test_predictive_variances_agree_with_the_linearised_network(activation):
    rng = stream(5)
    inputs = torch.linspace(-2, 2, 30, dtype=torch.float64)[:, None]
    targets = inputs.sin() + 0.1 * torch.randn(30, 1, generator=rng, dtype=torch.float64)
    problem = Problem(Split(inputs, targets), Gaussian(), mlp([4], 1, activation=activation))
    posterior = fitted(problem)
    weights, precision = weights_of(problem, posterior)
    network = RowPerceptron(problem).network
    at = torch.linspace(-5, 5, 21, dtype=torch.float64)[:, None]
    prediction, step = posterior.predict(at, stream(0)), 1e-6
    variance = torch.full((21,), posterior.noise_variance, dtype=torch.float64)
    for place in range(len(weights)):
        shift = torch.zeros_like(weights)
        shift[place] = step
        both = network(torch.stack([weights + shift, weights - shift]), at[None])[..., 0]
        variance += ((both[0] - both[1]) / (2 * step)).square() / precision[place]
    torch.testing.assert_close(prediction.mean, network(weights[None], at[None])[0])
    torch.testing.assert_close(prediction.variance[:, 0], variance, rtol=1e-5, atol=1e-9)


def test_class_probabilities_are_the_expected_ones_up_to_the_probit_approximation():
    problem = classification(rows=60, architecture=mlp([], 3), dtype=torch.float64)
    posterior = fitted(problem)
    weights, precision = weights_of(problem, posterior)
    network, at = RowPerceptron(problem).network, problem.train.inputs[:10]
    noise = torch.randn(20_000, len(weights), generator=stream(1), dtype=torch.float64)
    logits = network(weights + noise * precision.rsqrt(), at[None])
    expected = logits.softmax(-1).mean(0)
    probabilities = posterior.predict(at, stream(0)).mixture_log_probs.exp()
    at_mean = network(weights[None], at[None])[0].softmax(-1)
    assert (probabilities - expected).abs().max() < 0.03
    assert (probabilities - expected).norm() < (at_mean - expected).norm()


def test_a_classifier_is_the_most_probable_one_at_its_prior_precision():
    problem = classification(rows=60, architecture=mlp([], 3), dtype=torch.float64)
    posterior = fitted(problem, evidence_updates=1000)
    weights, _ = weights_of(problem, posterior)
    weights.requires_grad_()
    alpha = posterior.diagnostics["prior_precision"]
    logits = RowPerceptron(problem).network(weights[None], problem.train.inputs[None])[0]
    loss = functional.cross_entropy(logits, problem.train.targets, reduction="sum")
    (gradient,) = torch.autograd.grad(loss + alpha / 2 * weights.square().sum(), weights)
    assert gradient.abs().max() < 1e-3
    gamma = posterior.diagnostics["effective_parameters"]
    assert alpha == pytest.approx(gamma / float(weights.detach().square().sum()), rel=2e-3)


def test_more_effective_parameters_than_rows_are_counted_and_precisions_stay_in_bounds():
    problem = regression(rows=20, architecture=mlp([50], 1), dtype=torch.float64)
    posterior = fitted(problem)
    low, high = PRECISIONS
    assert posterior.diagnostics["guarded_updates"] > 0
    assert low <= posterior.diagnostics["prior_precision"] <= high
    assert low <= posterior.diagnostics["noise_std"] ** -2 <= high * (1 + 1e-9)
    assert (posterior.predict(problem.train.inputs, stream(0)).variance > 0).all()


def test_a_network_that_the_evidence_switches_off_is_marked_as_not_converged():
    """Targets independent of the inputs: the prior precision has no fixed point."""
    inputs = regression(rows=20).train.inputs.double()
    targets = torch.randn(20, 1, generator=stream(6), dtype=torch.float64)
    problem = Problem(Split(inputs, targets - targets.mean()), Gaussian(), mlp([10], 1))
    posterior = fitted(problem)
    assert posterior.diagnostics["prior_precision"] == PRECISIONS[1]
    assert posterior.diagnostics["converged"] == 0
    assert posterior.predict(inputs, stream(0)).mean.abs().max() < 1e-4


def test_targets_that_are_all_equal_to_zero_stay_finite():
    inputs = regression().train.inputs
    problem = Problem(Split(inputs, torch.zeros(37, 1)), Gaussian(), mlp([5], 1))
    posterior = fitted(problem)
    assert all(math.isfinite(value) for value in posterior.diagnostics.values())
    assert posterior.predict(inputs, stream(0)).mean.abs().max() < 1e-2


def test_inputs_that_are_not_finite_are_a_divergence():
    problem = regression()
    sick = Split(problem.train.inputs * torch.inf, problem.train.targets)
    with pytest.raises(InferenceDiverged, match="not finite"):
        fitted(Problem(sick, Gaussian(), problem.architecture))


def test_settings_are_checked():
    for wrong in ({"evidence_updates": 0}, {"iterations": 0}, {"initial_noise_precision": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            LaplaceDiagonal(**wrong)
