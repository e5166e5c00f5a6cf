"""Predictions of the linearised network, against dense algebra and draws of weights."""

import pytest
import torch
from torch import Tensor

from bnnbench.datasets.base import Categorical, Gaussian
from bnnbench.methods.base import Problem
from bnnbench.methods.laplace import gauss_newton as chunks
from bnnbench.methods.laplace.evidence import Precisions
from bnnbench.methods.laplace.kfac import Kfac
from bnnbench.methods.laplace.linearised import LinearisedPosterior
from bnnbench.methods.laplace.method import Approximation, Laplace
from bnnbench.methods.laplace.structures import Diagonal, Full, Subnetwork
from bnnbench.methods.networks.architectures import (
    Architecture,
    Conv2d,
    Flatten,
    Linear,
    MaxPool2d,
    Tanh,
)
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from tests.methods.laplace.explicit import jacobian, matrix, mode_of, normal_inputs
from tests.methods.problems import classification, design, exact_posterior, regression, stream

PRIOR, NOISE = 2.0, 5.0
STRUCTURES = [Diagonal(), Kfac(), Full(), Full("last"), Subnetwork(15)]


def approximation(structure, kind: str) -> tuple[Approximation, Problem]:
    """Return the curvature around random weights, and the problem with its inputs."""
    shape, body = {
        "perceptron": ((4,), (Linear(5), Tanh())),
        "convolutions": ((2, 6, 6), (Conv2d(3, 3), Tanh(), MaxPool2d(2), Flatten())),
        "regression": ((4,), (Linear(5), Tanh())),
    }[kind]
    architecture: Architecture = (*body, Linear(1 if kind == "regression" else 3))
    problem = classification(shape=shape, architecture=architecture, dtype=torch.float64)
    likelihood = Categorical(3)
    if kind == "regression":
        problem = regression(architecture=architecture, dtype=torch.float64)
        likelihood = Gaussian()
    mode = mode_of(architecture, shape, likelihood, 1 / NOISE)
    return Approximation.of(mode, structure, problem), problem


def covariance(at: Approximation, noise: float) -> Tensor:
    """Return the inverse of the posterior precision; 0 for fixed weights."""
    precision = noise * matrix(at.spectrum, at.mode)
    free = at.spectrum.weights(
        torch.eye(len(at.spectrum.eigenvalues), dtype=torch.float64), at.mode.weights.shape[1]
    ).any(0)
    inverse = torch.zeros_like(precision)
    identity = torch.eye(int(free.sum()), dtype=torch.float64)
    within = free[:, None] & free[None]
    own = precision[within].view(identity.shape) + PRIOR * identity
    inverse[within] = torch.linalg.inv(own).flatten()
    return inverse


def around(at: Approximation, problem: Problem, noise: float, **settings):
    """Return the posterior with these precisions."""
    return Laplace(**settings)._around(at, Precisions(PRIOR, noise), problem, stream(3))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_regressions_variances_agree_with_dense_algebra(structure):
    at, problem = approximation(structure, "regression")
    found = around(at, problem, NOISE).predict(problem.train.inputs, stream(1))
    assert isinstance(found, GaussianPredictive)
    slopes = jacobian(at.mode, problem.train.inputs)[:, 0]
    expected = (slopes @ covariance(at, NOISE) * slopes).sum(1) + 1 / NOISE
    torch.testing.assert_close(found.variances[0, :, 0], expected, rtol=1e-9, atol=0)
    outputs = at.mode.network(at.mode.weights, problem.train.inputs[None])[0]
    torch.testing.assert_close(found.means[0], outputs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("kind", ["perceptron", "convolutions"])
def test_a_classifiers_probits_shrink_logits_by_the_variances_of_dense_algebra(structure, kind):
    at, problem = approximation(structure, kind)
    found = around(at, problem, 1.0).predict(problem.train.inputs, stream(1))
    slopes = jacobian(at.mode, problem.train.inputs)
    variances = torch.einsum("nkp,pq,nkq->nk", slopes, covariance(at, 1.0), slopes)
    logits = at.mode.network(at.mode.weights, problem.train.inputs[None], buffers=at.mode.buffers)
    expected = (logits[0] / (1 + torch.pi / 8 * variances).sqrt()).log_softmax(-1)
    assert isinstance(found, CategoricalPredictive)
    torch.testing.assert_close(found.log_probs[0], expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_draws_of_functions_agree_with_the_linear_network(structure):
    at, problem = approximation(structure, "perceptron")
    posterior = around(at, problem, 1.0, prediction="glm_mc", draws=4)
    assert isinstance(posterior, LinearisedPosterior)
    found = posterior.predict(problem.train.inputs, stream(1))
    changes = at.spectrum.weights(posterior._noise(stream(1)), at.mode.weights.shape[1])
    slopes = jacobian(at.mode, problem.train.inputs)
    outputs = at.mode.network(at.mode.weights, problem.train.inputs[None])[0]
    expected = outputs + torch.einsum("nkp,sp->snk", slopes, changes)
    assert isinstance(found, CategoricalPredictive)
    torch.testing.assert_close(found.log_probs, expected.log_softmax(-1), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_draws_of_weights_have_the_mean_and_covariance_of_dense_algebra(structure):
    at, problem = approximation(structure, "regression")
    drawn = around(at, problem, NOISE, prediction="mc", draws=40_000, temperature=0.5)
    expected = 0.5 * covariance(at, NOISE)
    spread = expected.diagonal()
    scale = (spread[:, None] * spread).sqrt().clamp_min(1e-12)
    error = (drawn.weights.T.cov() - expected) / scale
    assert error.abs().max() < 0.04  # 5 / sqrt(40,000), and the largest of some 500
    off = (drawn.weights.mean(0) - at.mode.weights[0]) / spread.sqrt().clamp_min(1e-12)
    assert off.abs().max() < 0.025


def test_temperature_scales_the_variance_of_functions():
    at, problem = approximation(Kfac(), "regression")
    inputs = problem.train.inputs
    variances = [
        around(at, problem, NOISE, temperature=t).predict(inputs, stream(1)).variances - 1 / NOISE
        for t in (1.0, 0.3)
    ]
    torch.testing.assert_close(variances[1], 0.3 * variances[0])


def test_a_linear_regressions_predictions_are_exact(linear):
    noise = linear.likelihood.noise_std
    mean, precision = exact_posterior(linear, noise, PRIOR)
    mode = mode_of(linear.architecture, (4,), linear.likelihood, noise**2)
    mode.weights.copy_(mean[None])
    at = Approximation.of(mode, Full(), linear)
    found = around(at, linear, noise**-2).predict(linear.train.inputs, stream(1))
    rows = design(linear)
    expected = (rows * torch.linalg.solve(precision, rows.T).T).sum(1) + noise**2
    torch.testing.assert_close(found.variances[0, :, 0], expected)
    torch.testing.assert_close(found.means[0, :, 0], rows @ mean)


@pytest.mark.parametrize("prediction", ["glm", "glm_mc"])
def test_points_in_chunks_have_the_gradient_of_points_together(prediction, monkeypatch):
    at, problem = approximation(Kfac(), "convolutions")
    posterior = around(at, problem, 1.0, prediction=prediction)
    inputs = normal_inputs(7, 2, 6, 6).requires_grad_()
    together = posterior.log_probs(inputs, stream(1))
    (gradient,) = torch.autograd.grad(together[:, 0].sum(), inputs)
    monkeypatch.setattr(chunks, "POINTS_AT_ONCE", 3)
    apart = posterior.log_probs(inputs, stream(1))
    (other,) = torch.autograd.grad(apart[:, 0].sum(), inputs)
    torch.testing.assert_close(apart, together)
    torch.testing.assert_close(other, gradient)
