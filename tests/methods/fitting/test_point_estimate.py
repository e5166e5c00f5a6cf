"""AdamW and SGD, compared with torch's modules and optimisers and with closed forms."""

import math

import pytest
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.sgd import Sgd
from tests.methods.problems import classification, design, regression, stream

METHODS = [
    AdamW(learning_rate=0.02, weight_decay=0.1, epochs=4, batch_size=10),
    Sgd(learning_rate=0.1, weight_decay=0.1, epochs=4, batch_size=10),
]


def by_torch(method, problem, loss):
    """Return the flat weights of an nn.Module after the same descent."""
    rng = stream(3)
    width = 3 if problem.train.targets.ndim == 1 else 1
    module = nn.Sequential(nn.Linear(4, 7), nn.ReLU(), nn.Linear(7, width)).double()
    network = TorchNetwork(problem.architecture, problem.input_shape)
    start = network.initial_weights([rng], dtype=torch.float64)[0]
    nn.utils.vector_to_parameters(start, module.parameters())
    if isinstance(method, AdamW):
        optimiser = torch.optim.AdamW(
            module.parameters(), lr=method.learning_rate, weight_decay=method.weight_decay
        )
    else:
        optimiser = torch.optim.SGD(
            module.parameters(), method.learning_rate, method.momentum, 0, method.weight_decay
        )
    schedule = CosineAnnealingLR(optimiser, T_max=method.epochs)
    inputs, targets = problem.train.inputs, problem.train.targets
    for _ in range(method.epochs):
        for rows in torch.randperm(len(inputs), generator=rng).split(method.batch_size):
            optimiser.zero_grad()
            loss(module(inputs[rows]), targets[rows]).backward()
            optimiser.step()
        schedule.step()
    return nn.utils.parameters_to_vector(module.parameters()).detach()


@pytest.mark.parametrize("method", METHODS)
def test_a_classifier_takes_the_steps_of_torch(method):
    problem = classification(dtype=torch.float64)
    expected = by_torch(method, problem, nn.CrossEntropyLoss())
    weights = method.fit(problem, stream(3)).weights[0]
    torch.testing.assert_close(weights, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("method", METHODS)
def test_a_regression_of_known_noise_takes_the_steps_of_torch(method):
    problem = regression(noise_std=0.4, dtype=torch.float64)

    def loss(outputs, targets):
        half_square = 0.5 * (outputs - targets).square().mean()
        return half_square if isinstance(method, Sgd) else half_square / 0.4**2

    expected = by_torch(method, problem, loss)
    posterior = method.fit(problem, stream(3))
    torch.testing.assert_close(posterior.weights[0], expected, rtol=1e-9, atol=1e-11)
    assert posterior.diagnostics["noise_std"] == pytest.approx(0.4)


def linear(noise_std=None):
    return regression(rows=300, noise_std=noise_std, architecture=(Linear(1),), dtype=torch.float64)


def least_squares(problem):
    return torch.linalg.lstsq(design(problem), problem.train.targets).solution[:, 0]


@pytest.mark.parametrize(
    "method",
    [
        AdamW(learning_rate=0.05, weight_decay=0.0, epochs=40, batch_size=50),
        Sgd(learning_rate=0.1, weight_decay=0.0, epochs=40, batch_size=50),
    ],
)
def test_a_linear_network_reaches_least_squares_and_learns_its_noise(method):
    problem = linear()
    posterior, expected = method.fit(problem, stream(0)), least_squares(problem)
    torch.testing.assert_close(posterior.weights[0], expected, rtol=0, atol=3e-3)
    residuals = problem.train.targets[:, 0] - design(problem) @ expected
    noise_std = posterior.diagnostics["noise_std"]
    assert noise_std == pytest.approx(float(residuals.square().mean().sqrt()), rel=0.02)
    assert noise_std == pytest.approx(0.3, abs=4 * 0.3 / math.sqrt(2 * 300))
    variances = posterior.predict(problem.train.inputs, stream(0)).variances
    torch.testing.assert_close(variances, torch.full_like(variances, noise_std**2))


def test_weight_decay_of_sgd_is_the_penalty_of_ridge_regression():
    problem, penalty = linear(), 0.3
    method = Sgd(0.2, weight_decay=penalty, epochs=600, batch_size=300, schedule="constant")
    rows, targets = design(problem), problem.train.targets[:, 0]
    expected = torch.linalg.solve(
        rows.T @ rows / 300 + penalty * torch.eye(5, dtype=torch.float64), rows.T @ targets / 300
    )
    weights = method.fit(problem, stream(0)).weights[0]
    torch.testing.assert_close(weights, expected, rtol=1e-8, atol=1e-10)
