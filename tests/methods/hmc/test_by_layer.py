"""HMC with precisions of layers, compared with quadrature and, step by step, with torch."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.hmc.by_layer import HmcByLayer
from bnnbench.methods.hmc.compiled_layers import CompiledLayers
from bnnbench.methods.hmc.layers import Layers, curvatures, directions, of_layers, of_variance
from bnnbench.methods.networks.catalogue import mlp
from tests.methods.hmc.test_method import assert_moments, values
from tests.methods.problems import design, stream


@pytest.mark.parametrize(("degrees", "scale"), [(1.0, 0.05), (5.0, 2.0)])
def test_a_variance_has_the_scaled_inverse_chi_squared_prior(degrees, scale):
    prior = of_variance(degrees, scale)
    variances = np.array([0.5, 1.0, 2.0]) * scale**2
    density = stats.gamma(prior.shape, scale=1 / prior.rate).pdf(1 / variances) / variances**2
    expected = stats.chi2(degrees).pdf(degrees * scale**2 / variances)
    np.testing.assert_allclose(density, expected * degrees * scale**2 / variances**2)


def test_layers_have_the_toolboxs_scales():
    """A state is √(fan_in + 1) times a weight, and its variance fan_in + 1 times a weight's."""
    problem = Problem(Split(torch.zeros(2, 3), torch.zeros(2, 1)), Gaussian(), mlp([10], 1))
    first, of_biases, second, output_bias = of_layers(Layers.of(problem).layers, 1.0, 0.05, 1.0)
    assert first.rate == of_biases.rate == pytest.approx(0.05**2 / 2 * 4)
    assert second.rate == pytest.approx(0.005**2 / 2 * 11)
    assert output_bias.fixed == pytest.approx(1 / 11)


def test_a_network_of_rectifiers_does_not_change_along_a_layer_against_the_next():
    problem = Problem(Split(torch.zeros(2, 3), torch.zeros(2, 1)), Gaussian(), mlp([6, 5], 1))
    network = Layers.of(problem)
    states = torch.zeros(1, len(network.free))
    states[:, network.free] = torch.randn(int(network.free.sum()), generator=stream(0))
    inputs = torch.randn(4, 3, generator=stream(1))
    for direction in directions(network.layers)[-2:]:
        scaled = states.clone()
        for group, factor in zip(network.groups, (-direction / 2).exp(), strict=True):
            scaled[:, group] *= float(factor)
        torch.testing.assert_close(network.outputs(scaled, inputs), network.outputs(states, inputs))


def test_curvatures_are_those_of_a_linear_network():
    """With standard normal inputs, the second derivative by a weight is rows / noise²."""
    problem = Problem(Split(torch.zeros(2, 3), torch.zeros(2, 1)), Gaussian(), mlp([], 1))
    found = curvatures(Layers.of(problem).layers, torch.tensor([[2.0], [3.0]]), torch.tensor([8.0]))
    torch.testing.assert_close(found, torch.tensor([[2 + 8 / 4], [3 + 8 / 4]]))


@pytest.mark.long
def test_linear_regression_has_the_moments_found_by_quadrature(linear):
    method = HmcByLayer(draws=2000, thinning=1, warmup=200, degrees=2.0, scale=0.5)
    posterior = method.fit(linear, stream(0))
    rows, targets = design(linear), linear.train.targets[:, 0]
    grid = torch.linspace(-6, 8, 400, dtype=torch.float64)
    weight, mean, second = torch.empty(400), torch.empty(400, 60), torch.empty(400, 60)
    weight, mean, second = weight.double(), mean.double(), second.double()
    for i, precision in enumerate(grid.exp()):
        prior = torch.cat([torch.ones(4) / precision, torch.ones(1)]).double()
        covariance = torch.linalg.inv(rows.T @ rows / 0.25 + prior.reciprocal().diag())
        mean[i] = rows @ covariance @ rows.T @ targets / 0.25
        second[i] = (rows @ covariance * rows).sum(1) + mean[i] ** 2
        of_targets = 0.25 * torch.eye(60).double() + rows * prior @ rows.T
        evidence = torch.distributions.MultivariateNormal(torch.zeros(60).double(), of_targets)
        density = stats.gamma(1.0, scale=1 / 0.25).logpdf(float(precision))
        weight[i] = evidence.log_prob(targets) + density + grid[i]
    weight = weight.softmax(0)
    expected = (weight @ mean).numpy(), (weight @ second - (weight @ mean) ** 2).numpy()
    assert_moments(values(posterior, linear.train.inputs), *expected)
    assert posterior.diagnostics["converged"] == 1


def test_compiled_trajectories_are_those_of_torch():
    rng = stream(0)
    inputs, targets = torch.randn(9, 2, generator=rng), torch.randn(9, 1, generator=rng)
    problem = Problem(Split(inputs.double(), targets.double()), Gaussian(), mlp([6], 1))
    ends = []
    for kind in (Layers, CompiledLayers):
        network, rng = kind.of(problem), stream(1)
        free = network.free.double().expand(3, -1)
        loss = network.loss(
            problem.train.inputs.expand(3, -1, -1), problem.train.targets.expand(3, -1, -1),
            problem.likelihood,
        )  # fmt: skip
        size = free.shape
        loss.states.copy_(torch.randn(size, generator=rng, dtype=torch.float64) * free)
        momenta = torch.randn(size, generator=rng, dtype=torch.float64) * free
        loss.precisions = torch.rand(size, generator=rng, dtype=torch.float64) * free
        loss.differentiate()
        kick = torch.full((3, 1), -0.05, dtype=torch.float64)
        loss.leapfrog(momenta, 0.1 * free, 4 * kick, kick, torch.tensor([5, 1, 3]))
        ends.append(torch.cat([loss.states * free, momenta * free]))
    torch.testing.assert_close(*ends)


def test_torchs_chains_draw_as_the_compiled_ones(linear):
    method = HmcByLayer(draws=8, chains=2, thinning=1, warmup=4, leapfrog_steps=5)
    problem = replace(linear, architecture=mlp([5], 1))
    one, other = (replace(method, backend=b).fit(problem, stream(0)) for b in ("compiled", "torch"))
    torch.testing.assert_close(one.states, other.states)
