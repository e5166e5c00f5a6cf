"""Parts of an epinet against its equations and the exact posterior of a linear model."""

import math

import pytest
import torch

from bnnbench.methods.epinet.networks import (
    PriorNetworks,
    epinet_outputs,
    perceptron,
    prior_outputs,
    unit_directions,
)
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream


def randn(*shape, seed=0):
    return torch.randn(shape, generator=stream(seed), dtype=torch.float64)


def test_an_epinet_is_a_matrix_of_the_point_and_index_times_the_index():
    outputs, dimension = 2, 3
    network = TorchNetwork(perceptron((4,), outputs * dimension), (5 + dimension,))
    weights, known, z = randn(2, network.parameter_count), randn(2, 6, 5), randn(2, 7, dimension)
    added = epinet_outputs(network, weights, known, z)
    for member in range(2):
        first, bias, second, last = weights[member].split([32, 4, 24, 6])
        for point in range(6):
            for draw in range(7):
                joined = torch.cat([known[member, point], z[member, draw]])
                hidden = (first.view(4, 8) @ joined + bias).relu()
                matrix = (second.view(6, 4) @ hidden + last).view(outputs, dimension)
                expected = matrix @ z[member, draw]
                torch.testing.assert_close(added[member, point, draw], expected)


def test_prior_networks_are_standardised_over_the_training_rows():
    network = TorchNetwork(perceptron((5, 5), 2), (4,))
    inputs = randn(40, 4, seed=1)
    priors = PriorNetworks.standardised(network, randn(3, network.parameter_count), inputs)
    values = priors(inputs)
    assert values.shape == (40, 2, 3)
    torch.testing.assert_close(values.mean(0), torch.zeros(2, 3).double(), atol=1e-12, rtol=0)
    torch.testing.assert_close(values.std(0, correction=0), torch.ones(2, 3).double())


def test_a_constant_prior_network_stays_finite():
    network = TorchNetwork(perceptron((5,), 1), (4,))
    priors = PriorNetworks.standardised(
        network, torch.zeros(3, network.parameter_count), torch.ones(9, 4)
    )
    assert torch.equal(priors(torch.ones(2, 4)), torch.zeros(2, 1, 3))


def test_the_variance_of_the_prior_function_does_not_depend_on_the_dimension():
    for dimension in (1, 16):
        values = torch.ones(1, 1, 1, dimension, dtype=torch.float64)
        draws = prior_outputs(values, randn(1, 40_000, dimension))
        assert draws.var().item() == pytest.approx(1.0, rel=0.05)


def test_directions_are_uniform_on_the_unit_sphere():
    directions = unit_directions(randn(50_000, 3))
    torch.testing.assert_close(directions.norm(dim=1), torch.ones(50_000).double())
    second_moments = directions.mT @ directions / 50_000
    torch.testing.assert_close(second_moments, torch.eye(3).double() / 3, atol=0.01, rtol=0)


PHI = torch.tensor(
    [[math.sin(1 + i + 2 * j) for j in range(4)] for i in range(40)], dtype=torch.float64
)
STD, RIDGE = 0.3, 0.5


def relative_error(dimension, seed):
    """Return the error of the covariance of a linear epinet, trained to its optimum.

    For f = phi^T (t + (A + P) z), targets y + s c.z and the mean over z of squared errors plus a
    penalty of |t|^2 + |A|^2, the optimum is in closed form.
    """
    precision = PHI.mT @ PHI + RIDGE * torch.eye(4, dtype=torch.float64)
    directions = unit_directions(randn(40, dimension, seed=seed))
    prior = randn(4, dimension, seed=seed + 100) * STD / math.sqrt(RIDGE * dimension)
    learned = torch.linalg.solve(precision, PHI.mT @ (STD * directions - PHI @ prior))
    exact = STD**2 * torch.linalg.inv(precision)
    of_index = (learned + prior) @ (learned + prior).mT
    return float((of_index - exact).norm() / exact.norm())


@pytest.mark.parametrize(("dimension", "expected"), [(8, 0.567), (64, 0.198), (512, 0.063)])
def test_a_linear_epinet_with_perturbed_targets_nears_the_exact_posterior(dimension, expected):
    errors = [relative_error(dimension, seed) for seed in range(20)]
    assert sum(errors) / 20 == pytest.approx(expected, rel=0.3)
