"""Prediction from weight vectors: in chunks, and by drawing from a Gaussian."""

import pytest
import torch
from torch.nn import functional

from bnnbench.datasets.base import Categorical, Gaussian
from bnnbench.methods.fitting import network_posterior
from bnnbench.methods.fitting.network_posterior import (
    DiagonalGaussianPosterior,
    NetworkPosterior,
    convolves,
)
from bnnbench.methods.networks.architectures import Conv2d, Flatten, Linear, ReLU, Residual
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream, streams

TWO_LAYERS = (Linear(7), ReLU(), Linear(2))
ONE_LAYER = (Linear(1),)


def posterior(draws=5, architecture=TWO_LAYERS, likelihood=None):
    network = TorchNetwork(architecture, (4,))
    weights = network.initial_weights(streams(*range(draws)), dtype=torch.float64)
    buffers = network.initial_buffers(weights)
    return NetworkPosterior(network, likelihood or Gaussian(), weights, buffers, 0.09, {})


def inputs(points=23):
    return torch.randn(points, 4, generator=stream(8), dtype=torch.float64)


def test_a_mixture_has_one_component_for_each_weight_vector():
    own, x = posterior(), inputs()
    prediction = own.predict(x, stream(0))
    for weights, means in zip(own.weights, prediction.means, strict=True):
        hidden = functional.linear(x, weights[:28].view(7, 4), weights[28:35]).relu()
        expected = functional.linear(hidden, weights[35:49].view(2, 7), weights[49:])
        torch.testing.assert_close(means, expected, rtol=1e-10, atol=1e-12)
    assert (prediction.variances == 0.09).all()


def test_a_classifier_normalises_its_logits():
    prediction = posterior(likelihood=Categorical(2)).predict(inputs(), stream(0))
    means = posterior().predict(inputs(), stream(0)).means
    torch.testing.assert_close(prediction.log_probs, means.log_softmax(-1))


@pytest.mark.parametrize(("points", "weights"), [(1, 1), (7, 120), (23, 60), (500, 10**6)])
def test_chunks_of_points_and_draws_change_nothing_beyond_rounding(points, weights, monkeypatch):
    expected = posterior().predict(inputs(), stream(0)).means
    monkeypatch.setattr(network_posterior, "POINTS_AT_ONCE", points)
    monkeypatch.setattr(network_posterior, "WEIGHTS_AT_ONCE", weights)
    torch.testing.assert_close(posterior().predict(inputs(), stream(0)).means, expected)


def gaussian(draws, std=0.3, architecture=ONE_LAYER):
    at_mean = posterior(1, architecture)
    own = torch.full_like(at_mean.weights[0], std)
    own[0] *= 2
    return DiagonalGaussianPosterior(at_mean, own, draws)


@pytest.mark.parametrize("weights_at_once", [2**24, 5000 * 5])
def test_draws_of_a_linear_network_have_the_moments_of_the_weights(weights_at_once, monkeypatch):
    monkeypatch.setattr(network_posterior, "WEIGHTS_AT_ONCE", weights_at_once)
    own, x, draws = gaussian(12_000), inputs(5), 12_000
    means = own.predict(x, stream(1)).means[:, :, 0]
    assert len(means) == draws
    expected = own.at_mean.predict(x, stream(1)).means[0, :, 0]
    ones = torch.ones(5, 1, dtype=torch.float64)
    variance = (torch.cat([x, ones], dim=1) * own.std).square().sum(1)
    assert ((means.mean(0) - expected) / (variance / draws).sqrt()).abs().max() < 5
    torch.testing.assert_close(means.var(0), variance, rtol=5 * (2 / draws) ** 0.5, atol=0)


def test_a_gaussian_without_width_predicts_its_mean_in_every_draw():
    own = gaussian(3, std=0.0, architecture=TWO_LAYERS)
    means = own.predict(inputs(), stream(1)).means
    expected = own.at_mean.predict(inputs(), stream(1)).means
    torch.testing.assert_close(means, expected.expand_as(means))


def test_no_draws_are_the_prediction_at_the_mean():
    own = gaussian(0)
    means = own.predict(inputs(), stream(1)).means
    assert torch.equal(means, own.at_mean.predict(inputs(), stream(1)).means)


def test_a_network_convolves_wherever_its_convolution_is():
    conv = Conv2d(3, kernel=1)
    assert convolves((conv, Flatten(), Linear(2)))
    assert convolves((Residual((ReLU(),), (conv,)), Flatten()))
    assert convolves((Residual((Residual((conv,)),)), Flatten()))
    assert not convolves((Flatten(), Residual((Linear(3),)), Linear(2)))
