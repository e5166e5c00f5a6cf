"""Principal directions by numpy; inference in them, compared with conjugate models."""

import math

import numpy as np
import pytest
import torch
from torch.distributions import Categorical as Law

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.networks.architectures import BatchNorm, Linear, ReLU, Tanh
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.trajectory import subspace
from bnnbench.methods.trajectory.collector import Descent, collect
from bnnbench.methods.trajectory.elliptical_slice import elliptical_slices
from bnnbench.methods.trajectory.pca_slices import PcaSlices
from bnnbench.methods.trajectory.pca_vi import PcaVi
from bnnbench.methods.trajectory.subspace import Subspace, Task, principal_directions, total_loss
from bnnbench.methods.trajectory.swa import Swa
from tests.methods.problems import (
    classification,
    design,
    exact_posterior,
    regression,
    stream,
    streams,
)

DESCENT = Descent(0.02, 0.9, 1e-3, epochs=10, batch_size=8)


def assert_moments(states, mean, covariance):
    """Compare within five standard errors of means of a hundred blocks."""
    white = torch.linalg.solve_triangular(
        torch.linalg.cholesky(covariance), (states - mean).T, upper=False
    ).T
    products = white[:, :, None] * white[:, None, :]
    for values, expected in ((white, 0.0), (products, torch.eye(len(mean)).double())):
        blocks = torch.stack([block.mean(0) for block in values.chunk(100)])
        error = blocks.std(0) / 10
        assert ((blocks.mean(0) - expected).abs() < 5 * error).all()
        assert (error < 0.2).all()


def test_slices_leave_a_conjugate_posterior_as_it_is():
    rng = stream(0)
    rows = torch.randn(6, 3, generator=rng, dtype=torch.float64)
    targets = torch.randn(6, generator=rng, dtype=torch.float64)
    prior_std = 1.7
    precision = rows.T @ rows + torch.eye(3, dtype=torch.float64) / prior_std**2
    mean = torch.linalg.solve(precision, rows.T @ targets)

    def log_likelihood(z):
        return -0.5 * float((targets - rows @ z).square().sum())

    states, _ = elliptical_slices(log_likelihood, mean, prior_std, 10_000, stream(1))
    assert_moments(states, mean, torch.linalg.inv(precision))


def test_slices_under_a_flat_likelihood_are_the_prior_without_a_rejection():
    start = torch.zeros(2, dtype=torch.float64)
    states, evaluations = elliptical_slices(lambda z: 0.0, start, 0.6, 10_000, stream(0))
    assert evaluations == 10_001
    assert_moments(states, start, 0.36 * torch.eye(2, dtype=torch.float64))


def test_slices_of_a_half_line_are_a_half_normal():
    start = torch.ones(1, dtype=torch.float64)

    def log_likelihood(z):
        return 0.0 if z[0] > 0 else -math.inf

    states, _ = elliptical_slices(log_likelihood, start, 1.0, 20_000, stream(0))
    mean = torch.tensor([math.sqrt(2 / math.pi)]).double()
    variance = torch.tensor([[1 - 2 / math.pi]]).double()
    assert_moments(states, mean, variance)


def test_a_start_without_a_likelihood_is_divergence():
    with pytest.raises(InferenceDiverged, match="not finite"):
        elliptical_slices(lambda z: math.nan, torch.zeros(2), 1.0, 3, stream(0))


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_principal_directions_agree_with_numpy(rank):
    deviations = torch.randn(6, 40, generator=stream(0), dtype=torch.float64)
    found = principal_directions(deviations, rank)
    _, singular, right = np.linalg.svd(deviations.numpy() / math.sqrt(5), full_matrices=False)
    expected = singular[:rank, None] * right[:rank]
    signs = np.sign((found.numpy() * expected).sum(1, keepdims=True))
    np.testing.assert_allclose(found, signs * expected, rtol=1e-9, atol=1e-11)


def test_directions_without_length_are_left_out():
    one = torch.randn(1, 9, generator=stream(0))
    assert principal_directions(torch.cat([one, 2 * one, 0 * one]), 3).shape == (1, 9)
    assert principal_directions(0 * one, 3).shape == (0, 9)


def test_the_subspace_goes_through_the_average_and_along_the_iterates():
    problem = regression(dtype=torch.float64)
    iterates = collect([problem], streams(3), DESCENT).samples[0]
    posterior = PcaSlices(DESCENT, rank=2, draws=5, temperature=1.0).fit(problem, stream(3))
    assert isinstance(posterior, NetworkPosterior)
    assert posterior.diagnostics["coordinates"] == 2
    running = iterates.cumsum(0) / torch.arange(1, 6)[:, None]
    _, _, right = torch.linalg.svd(iterates - running, full_matrices=False)
    away = posterior.weights - iterates.mean(0)
    inside = away @ right[:2].T @ right[:2]
    torch.testing.assert_close(inside, away, rtol=1e-8, atol=1e-10)


NOISE, TEMPERATURE, PRIOR = 0.5, 1.6, 1.3


def conjugate():
    """Return linear regression in a plane, with mean and covariance of its coordinates."""
    problem = regression(noise_std=NOISE, architecture=(Linear(1),), dtype=torch.float64)
    network = TorchNetwork((Linear(1),), (4,))
    rng = stream(0)
    origin = exact_posterior(problem, NOISE, 1.0)[0] + 0.1
    directions = 0.2 * torch.randn(2, 5, generator=rng, dtype=torch.float64)
    none = torch.zeros(1, 0, dtype=torch.float64)
    average = NetworkPosterior(network, problem.likelihood, origin[None], none, NOISE**2, {})
    rows = design(problem)
    features = rows @ directions.T
    residuals = problem.train.targets[:, 0] - rows @ origin
    scale = TEMPERATURE * NOISE**2
    precision = features.T @ features / scale + torch.eye(2).double() / PRIOR**2
    mean = torch.linalg.solve(precision, features.T @ residuals / scale)
    return Task(Subspace(origin, directions), average, problem, stream(5)), mean, precision


def test_slices_in_a_subspace_are_the_tempered_posterior():
    task, mean, precision = conjugate()
    method = PcaSlices(temperature=TEMPERATURE, prior_std=PRIOR, burn_in=20, draws=1000)
    states, details = method.states(task)
    assert_moments(states, mean, torch.linalg.inv(precision))
    assert details["evaluations_per_draw"] > 1


def test_variational_inference_in_a_subspace_ends_at_the_mean_field_optimum():
    task, mean, precision = conjugate()
    method = PcaVi(
        Descent(batch_size=20), temperature=TEMPERATURE, prior_std=PRIOR, learning_rate=0.02,
        epochs=300,
    )  # fmt: skip
    found, std = method.variational(task)
    expected = precision.diagonal().rsqrt()
    assert ((found[0] - mean).abs() < 0.2 * expected).all()
    torch.testing.assert_close(std[0], expected, rtol=0.1, atol=0)


def test_the_total_loss_of_classes_agrees_with_torch():
    problem = classification(rows=1203, dtype=torch.float64)
    network = TorchNetwork(problem.architecture, (4,))
    weights = network.initial_weights(streams(0), dtype=torch.float64)
    buffers = network.initial_buffers(weights)
    posterior = NetworkPosterior(network, Categorical(3), weights, buffers, None, {})
    logits = network(weights, problem.train.inputs[None])[0]
    expected = -Law(logits=logits).log_prob(problem.train.targets).sum()
    found = total_loss(posterior, weights[0], problem.train)
    assert found == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("method", [PcaSlices(DESCENT, draws=4), PcaVi(DESCENT, epochs=2, draws=4)])
def test_networks_with_batch_norm_are_covered(method):
    architecture = (Linear(5), BatchNorm(), Tanh(), Linear(3))
    problems = [classification(seed, architecture=architecture) for seed in range(2)]
    together = method.fit_many(problems, streams(1, 2))
    alone = method.fit(problems[1], stream(2))
    assert isinstance(alone, NetworkPosterior)
    assert isinstance(together[1], NetworkPosterior)
    assert torch.equal(together[1].weights, alone.weights)
    assert len(alone.buffers.unique(dim=0)) > 1


@pytest.mark.parametrize("rows", [1, 5, 12, 13, 14])
def test_the_loss_of_rows_in_parts_is_that_of_all_rows(rows, monkeypatch):
    monkeypatch.setattr(subspace, "POINTS_AT_ONCE", 6)
    problem = classification(rows=37)
    average = posterior_of_average(problem)
    some = problem.train.rows(slice(rows))
    with torch.no_grad():
        expected = subspace.losses(average, average.weights, some).double().sum()
    found = subspace.total_loss(average, average.weights[0], some)
    assert found == pytest.approx(float(expected), rel=1e-5)


def test_a_lone_last_row_is_normalised_with_the_rows_before_it(monkeypatch):
    monkeypatch.setattr(subspace, "POINTS_AT_ONCE", 6)
    normed = (Linear(5), BatchNorm(), ReLU(), Linear(3))
    problem = classification(rows=13, architecture=normed)
    average = posterior_of_average(problem)
    with torch.no_grad():
        parts = [problem.train.rows(slice(0, 6)), problem.train.rows(slice(6, 13))]
        expected = sum(
            float(subspace.losses(average, average.weights, part).double().sum()) for part in parts
        )
    found = subspace.total_loss(average, average.weights[0], problem.train)
    assert found == pytest.approx(expected, rel=1e-6)


def posterior_of_average(problem):
    """Return a network at its initial weights."""
    average = Swa(Descent(epochs=2, batch_size=37)).fit(problem, stream(0))
    assert isinstance(average, NetworkPosterior)
    return average
