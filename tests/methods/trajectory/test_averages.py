"""SWA and SWAG, by numpy, torch and theory, from the iterates of a collector."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim.swa_utils import update_bn

from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.networks.architectures import BatchNorm, Linear, Tanh
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.trajectory.collector import Descent, collect
from bnnbench.methods.trajectory.last_iterate import LastIterate
from bnnbench.methods.trajectory.moments import Moments
from bnnbench.methods.trajectory.running_statistics import recomputed
from bnnbench.methods.trajectory.swa import Swa
from bnnbench.methods.trajectory.swag import Swag, gaussian_draws
from tests.methods.problems import classification, regression, stream, streams

DESCENT = Descent(0.02, 0.9, 1e-3, epochs=9, batch_size=8, start=1 / 3)
NORMED = (Linear(5), BatchNorm(), Tanh(), Linear(4), BatchNorm(), Tanh(), Linear(3))


def moments_of(iterates, rank):
    moments = Moments(rank)
    for weights in iterates:
        moments.add(weights)
    return moments


def test_the_average_agrees_with_the_iterates_kept():
    problem = regression(dtype=torch.float64)
    iterates = collect([problem], streams(3), DESCENT).samples[0]
    posterior = Swa(DESCENT).fit(problem, stream(3))
    assert isinstance(posterior, NetworkPosterior)
    assert len(iterates) == posterior.diagnostics["iterates"] == 6
    torch.testing.assert_close(posterior.weights, iterates.mean(0, True), rtol=1e-12, atol=1e-14)


def test_the_last_iterate_is_the_end_of_the_descent():
    problem = regression()
    iterates = collect([problem], streams(3), DESCENT).samples[0]
    posterior = LastIterate(DESCENT).fit(problem, stream(3))
    assert isinstance(posterior, NetworkPosterior)
    assert torch.equal(posterior.weights[0], iterates[-1])


def test_moments_agree_with_numpy():
    iterates = 5 + torch.randn(12, 2, 7, generator=stream(0), dtype=torch.float64)
    moments = moments_of(iterates, rank=5)
    array = iterates.numpy()
    np.testing.assert_allclose(moments.mean, array.mean(0), rtol=1e-13)
    np.testing.assert_allclose(moments.variance, array.var(0), rtol=1e-12)
    running = np.cumsum(array, 0) / np.arange(1, 13)[:, None, None]
    for member in range(2):
        expected = (array - running)[-5:, member]
        np.testing.assert_allclose(moments.deviations(member), expected, rtol=1e-11, atol=1e-14)


def test_moments_of_three_numbers_worked_out_by_hand():
    moments = moments_of(torch.tensor([[[0.0]], [[2.0]], [[4.0]]]).double(), rank=3)
    assert moments.mean.item() == 2
    assert moments.variance.item() == pytest.approx(8 / 3, rel=1e-14)
    assert moments.deviations(0).flatten().tolist() == [0, 1, 2]
    draws = gaussian_draws(
        moments.mean[0], moments.variance[0].sqrt(), moments.deviations(0), 0.5, 400_000, stream(0)
    )
    variance = 4 / 3 + 1.25
    assert draws.mean().item() == pytest.approx(2, abs=5 * math.sqrt(variance / 400_000))
    assert draws.var().item() == pytest.approx(variance, rel=5 * math.sqrt(2 / 400_000))


def test_the_variance_survives_weights_far_from_zero_in_single_precision():
    iterates = 100 + 1e-3 * torch.randn(50, 1, 20, generator=stream(0))
    expected = iterates.double().var(0, correction=0)
    torch.testing.assert_close(
        moments_of(iterates, 0).variance.double(), expected, rtol=2e-2, atol=0
    )


@pytest.mark.parametrize(("columns", "scale"), [(4, 0.5), (4, 1.3), (0, 1.0)])
def test_draws_have_the_covariance_of_the_theory(columns, scale):
    rng = stream(0)
    mean = torch.randn(3, generator=rng, dtype=torch.float64)
    std = torch.rand(3, generator=rng, dtype=torch.float64)
    deviations = torch.randn(columns, 3, generator=rng, dtype=torch.float64)
    count = 200_000
    draws = gaussian_draws(mean, std, deviations, scale, count, stream(1))
    expected = scale * (std.square().diag() + deviations.T @ deviations / max(columns - 1, 1))
    white = torch.linalg.solve_triangular(
        torch.linalg.cholesky(expected), (draws - mean).T, upper=False
    )
    assert white.mean(1).abs().max() < 5 / math.sqrt(count)
    covariance = white @ white.T / count - torch.eye(3, dtype=torch.float64)
    assert covariance.abs().max() < 5 * math.sqrt(2 / count)


def test_draws_of_a_fit_scatter_around_its_average_by_its_variances():
    problem = regression(dtype=torch.float64)
    iterates = collect([problem], streams(3), DESCENT).samples[0]
    posterior = Swag(DESCENT, rank=0, scale=1.0, draws=2000).fit(problem, stream(3))
    assert isinstance(posterior, NetworkPosterior)
    scores = (posterior.weights - iterates.mean(0)) / iterates.std(0, correction=0)
    assert scores.mean(0).abs().max() < 5 / math.sqrt(2000)
    assert (scores.var(0) - 1).abs().max() < 5 * math.sqrt(2 / 2000)


def test_no_scale_leaves_the_average():
    problem = classification()
    swag, swa = (
        method.fit(problem, stream(3)) for method in (Swag(DESCENT, scale=0), Swa(DESCENT))
    )
    assert isinstance(swag, NetworkPosterior)
    assert isinstance(swa, NetworkPosterior)
    assert torch.equal(swag.weights, swa.weights.expand(30, -1))


def test_too_few_iterates_are_refused():
    with pytest.raises(ValueError, match=r"Swag needs at least 2 iterates.*keep 1"):
        Swag(Descent(epochs=2))
    with pytest.raises(ValueError, match=r"Swa needs at least 1 iterates.*keep 0"):
        Swa(Descent(epochs=3, every=9))


def sequential(network, weights):
    """Return torch's own network with the same weights."""
    module = nn.Sequential(
        *(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Tanh()),
        *(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 3)),
    ).double()
    parts = weights.split([part.size for part in network.parameters])
    with torch.no_grad():
        for parameter, values in zip(module.parameters(), parts, strict=True):
            parameter.copy_(values.view_as(parameter))
    return module


def test_running_statistics_agree_with_a_pass_by_torch():
    network = TorchNetwork(NORMED, (4,))
    weights = network.initial_weights(streams(0, 1), dtype=torch.float64)
    inputs = torch.randn(40, 4, generator=stream(2), dtype=torch.float64)
    stale = torch.full((1, network.buffer_count), 7.0, dtype=torch.float64)
    found = recomputed(network, weights, inputs, stale, batch_size=10)
    for own, statistics in zip(weights, found, strict=True):
        module = sequential(network, own)
        update_bn(inputs.split(10), module)
        norms = [layer for layer in module if isinstance(layer, nn.BatchNorm1d)]
        expected = torch.cat([t for n in norms for t in (n.running_mean, n.running_var)])
        torch.testing.assert_close(statistics, expected, rtol=1e-12, atol=1e-14)


def test_every_row_counts_alike_in_batches_of_unequal_size():
    network = TorchNetwork((Linear(5), BatchNorm(), Linear(3)), (4,))
    weights = network.initial_weights(streams(0), dtype=torch.float64)
    inputs = torch.randn(11, 4, generator=stream(2), dtype=torch.float64)
    found = recomputed(network, weights, inputs, network.initial_buffers(weights), batch_size=4)
    features = TorchNetwork((Linear(5),), (4,))(weights[:, :25], inputs[None])[0]
    torch.testing.assert_close(found[0, :5], features.mean(0), rtol=1e-12, atol=1e-14)
    parts = torch.stack([part.var(0) * len(part) for part in features.split(4)])
    torch.testing.assert_close(found[0, 5:], parts.sum(0) / 11, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("method", [Swa(DESCENT), Swag(DESCENT, draws=3)])
def test_every_draw_predicts_with_statistics_of_its_own(method):
    problem = classification(architecture=NORMED, dtype=torch.float64)
    posterior = method.fit(problem, stream(3))
    assert isinstance(posterior, NetworkPosterior)
    network, inputs = posterior.network, problem.train.inputs
    for number, weights in enumerate(posterior.weights):
        module = sequential(network, weights)
        expected = recomputed(network, weights[None], inputs, posterior.buffers[:1], 8)
        torch.testing.assert_close(posterior.buffers[number], expected[0], rtol=1e-12, atol=0)
        norms = [layer for layer in module if isinstance(layer, nn.BatchNorm1d)]
        parts = expected[0].split([5, 5, 4, 4])
        for norm, mean, variance in zip(norms, parts[::2], parts[1::2], strict=True):
            norm.running_mean, norm.running_var = mean, variance
        log_probs = module.eval()(inputs).log_softmax(-1)
        found = posterior.predict(inputs, stream(0)).log_probs[number]
        torch.testing.assert_close(found, log_probs.detach(), rtol=1e-10, atol=1e-12)


def test_networks_with_batch_norm_are_fitted_alike_in_any_company():
    problems = [classification(seed, architecture=NORMED) for seed in range(3)]
    together = Swag(DESCENT, draws=3).fit_many(problems, streams(1, 2, 3))
    for seed, (problem, fitted) in enumerate(zip(problems, together, strict=True), 1):
        alone = Swag(DESCENT, draws=3).fit(problem, stream(seed))
        assert isinstance(fitted, NetworkPosterior)
        assert isinstance(alone, NetworkPosterior)
        assert torch.equal(fitted.weights, alone.weights)
        assert torch.equal(fitted.buffers, alone.buffers)


def test_a_covariance_of_rank_one_is_refused_before_the_descent():
    with pytest.raises(ValueError, match=r"rank to be 0 or at least 2.*got 1"):
        Swag(DESCENT, rank=1)
