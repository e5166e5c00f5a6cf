"""One pass of moments for Gaussian weights, by closed forms and draws of the weights."""

from dataclasses import replace

import pytest
import torch
from torch.distributions import Normal

from bnnbench.methods.ivon import Ivon
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.moment_propagation.predictive import MomentPrediction
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.rules import Formulas, moment_rules
from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    BatchNorm,
    Conv2d,
    Flatten,
    LeakyReLU,
    Linear,
    ReLU,
)
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.row_by_row.graves_vi import GravesVi
from tests.methods.problems import classification, images, regression, stream, streams

DOUBLE = torch.float64
DRAWS = 20_000


def gaussian(network, seed=0):
    """Return means and standard deviations of the weights."""
    rng = stream(seed)
    mean = network.initial_weights([rng], dtype=DOUBLE)
    mean += 0.3 * torch.randn(mean.shape, generator=rng, dtype=DOUBLE)
    return mean, 0.1 + 0.4 * torch.rand(mean.shape, generator=rng, dtype=DOUBLE)


def drawn(network, mean, std, inputs, buffers=None):
    """Return outputs for draws of the weights, each with all inputs."""
    noise = torch.randn(DRAWS, mean.shape[1], generator=stream(7), dtype=DOUBLE)
    outputs = []
    for part in (mean + std * noise).split(2000):
        own = None if buffers is None else buffers.expand(len(part), -1)
        outputs.append(network(part, inputs, buffers=own))
    return torch.cat(outputs)


def assert_moments_of(draws, y, errors=4.5):
    mean, variance = draws.mean(0), draws.var(0)
    fourth = (draws - mean).pow(4).mean(0)
    assert ((y.mean[0] - mean) / (variance / DRAWS).sqrt()).abs().max() < errors
    spread = ((fourth - variance**2) / DRAWS).sqrt()
    assert ((y.variance[0] - variance) / spread).abs().max() < errors


SINGLE = {
    "dense": ((Linear(3),), (4,)),
    "dense without bias": ((Linear(3, bias=False),), (4,)),
    "convolution": ((Conv2d(3, 3, 2, 1), Flatten()), (2, 5, 5)),
    "batch norm": ((BatchNorm(),), (4,)),
    # With one hidden layer, units are independent normals given the inputs.
    "one hidden layer": ((Linear(6), ReLU(), Linear(2)), (4,)),
    "leaky hidden layer": ((Linear(6), LeakyReLU(0.1), Linear(2, bias=False)), (4,)),
}


@pytest.mark.parametrize("name", SINGLE)
def test_outputs_of_known_inputs_have_the_moments_of_drawn_weights(name):
    architecture, shape = SINGLE[name]
    plain = TorchNetwork(architecture, shape)
    mean, std = gaussian(plain)
    inputs = torch.randn(1, 5, *shape, generator=stream(2), dtype=DOUBLE)
    buffers = plain.initial_buffers(mean) + 0.3 if plain.buffer_count else None
    moments = TorchNetwork(architecture, shape, moment_rules())
    y = moments((mean, std), Moments(inputs), buffers=buffers)
    assert_moments_of(drawn(plain, mean, std, inputs, buffers), y)


def test_uncertain_inputs_and_weights_multiply():
    x = Moments(*(torch.rand(1, 3, 4, generator=stream(n), dtype=DOUBLE) for n in (1, 2)))
    network = TorchNetwork((Linear(2),), (4,), moment_rules())
    mean, std = gaussian(network)
    y = network((mean, std), x)
    w, s = (stack[0, :8].view(2, 4) for stack in (mean, std))
    second = (x.mean**2 + x.variance) @ (w**2 + s**2).T  # E[x²] E[w²], minus the squared means
    expected = second - (x.mean**2) @ (w**2).T + std[0, 8:] ** 2
    torch.testing.assert_close(y.variance, expected)
    certain = network((mean, torch.zeros_like(std)), x)
    torch.testing.assert_close(certain.variance, network(mean, x).variance)


def test_norms_of_gaussian_scale_and_offset_multiply_too():
    for norm in (BatchNorm(), AnalyticNorm()):
        network = TorchNetwork((norm,), (3,), moment_rules())
        mean, std = gaussian(network)
        buffers = network.initial_buffers(mean) + torch.tensor([0.5] * 3 + [1.0] * 3)
        x = Moments(*(torch.rand(1, 4, 3, generator=stream(n), dtype=DOUBLE) for n in (1, 2)))
        y = network((mean, std), x, buffers=buffers)
        scale = (2.0 + norm.epsilon) ** -0.5
        z, v = (x.mean - 0.5) * scale, x.variance * scale**2
        g, b = mean[0].split(3)
        gs, bs = std[0].split(3)
        torch.testing.assert_close(y.mean, g * z + b)
        torch.testing.assert_close(y.variance, g**2 * v + gs**2 * (v + z**2) + bs**2)


def test_a_linear_models_prediction_is_its_exact_predictive(linear):
    """Outputs of Gaussian weights are normal: N(w x, s² x² + s_b² + noise)."""
    method = MomentPrediction(Mfvi(epochs=20, learning_rate=0.02))
    posterior = method.fit(linear, stream(0))
    own = Mfvi(epochs=20, learning_rate=0.02).fit(linear, stream(0))
    inputs, targets = linear.train.inputs, linear.train.targets
    rows = torch.cat([inputs, torch.ones(len(inputs), 1, dtype=DOUBLE)], 1)
    means = rows @ own.at_mean.weights[0]
    variances = rows.square() @ own.std.square() + own.at_mean.noise_variance
    expected = Normal(means, variances.sqrt()).log_prob(targets[:, 0])
    prediction = posterior.predict(inputs, stream(1))
    torch.testing.assert_close(prediction.log_prob(targets), expected)


@pytest.mark.parametrize("method", [Mfvi(0.02, epochs=30), Ivon(0.2, epochs=30)])
def test_predictions_are_near_those_of_many_draws(method):
    problem = regression(rows=20, noise_std=0.3)
    exact = replace(method, draws=20_000).fit(problem, stream(0))
    drawn = exact.predict(problem.train.inputs, stream(1))
    moments = MomentPrediction(method).fit(problem, stream(0))
    passed = moments.predict(problem.train.inputs, stream(1))
    assert passed.means.shape[0] == 1
    std = drawn.variance.sqrt()
    assert ((passed.mean - drawn.mean) / std).abs().max() < 0.03
    torch.testing.assert_close(passed.variance, drawn.variance, rtol=0.05, atol=0)
    assert moments.diagnostics == exact.diagnostics


def test_class_probabilities_are_near_those_of_many_draws():
    problem = classification()
    method = Mfvi(0.02, epochs=40, draws=4000)
    drawn = method.fit(problem, stream(0)).predict(problem.train.inputs, stream(1))
    errors = {}
    for rule in ("simplified", "logistic"):
        passed = MomentPrediction(method, Formulas(softmax=rule)).fit(problem, stream(0))
        own = passed.predict(problem.train.inputs, stream(1))
        assert len(own.log_probs) == 1
        difference = own.mixture_log_probs.exp() - drawn.mixture_log_probs.exp()
        errors[rule] = float(difference.abs().max())
    assert errors["logistic"] < 0.02
    assert errors["simplified"] < 0.05


@pytest.mark.parametrize("make", [regression, images])
def test_the_methods_own_fit_is_left_as_it_is(make):
    method = GravesVi(epochs=2, trials=2) if make is regression else Mfvi(epochs=2)
    problems, rngs = [make(0), make(1)], streams(3, 4)
    passed = MomentPrediction(method).fit_many(problems, rngs)
    for one, other in zip(passed, method.fit_many(problems, streams(3, 4)), strict=True):
        assert torch.equal(one.at_mean.weights, other.at_mean.weights)
        assert torch.equal(one.std, other.std)
