"""Rescaled weights: every channel starts with mean 0 and variance 1, by its own statistic."""

import pytest
import torch

from bnnbench.methods.moment_propagation.initialisation import rescale_by_batch, rescale_by_pixel
from bnnbench.methods.moments.single_pixel import SINGLE_PIXEL_RULES, Pixel
from bnnbench.methods.networks.architectures import (
    BatchNorm,
    Conv2d,
    Dropout,
    Flatten,
    LeakyReLU,
    Linear,
    LogisticBernoulli,
    MaxPool2d,
    Residual,
)
from bnnbench.methods.networks.torch_layers import RULES
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream, streams

LEAKY = LeakyReLU(0.01)
CHAIN = (
    *(Conv2d(4, 3, 2), LEAKY, Dropout(0.2), Conv2d(5, 3), LEAKY),
    *(Flatten(), Linear(6), LogisticBernoulli(), Linear(3)),
)
BRANCHED = (
    *(Conv2d(4, 3), LEAKY, Residual((Conv2d(4, 3, padding=1), LEAKY), (Conv2d(4, 1),))),
    *(MaxPool2d(2), Conv2d(2, 2, bias=False), BatchNorm(), Flatten(), Linear(3)),
)
SHAPE = (2, 9, 9)


def data(members=2, points=300):
    return 0.3 + 1.7 * torch.randn(members, points, *SHAPE, generator=stream(1))


def seen(architecture, base, weights, x, **options):
    """Return the values behind every layer with weights, in order."""
    found = []

    def watched(rule):
        def watch(layer, *rest):
            found.append((layer, rule(layer, *rest)))
            return found[-1][1]

        return watch

    rules = base | {kind: watched(base[kind]) for kind in (Linear, Conv2d)}
    TorchNetwork(architecture, SHAPE, rules)(weights, x, **options)
    return found


@pytest.mark.parametrize("architecture", [CHAIN, BRANCHED])
def test_by_a_batch_every_channel_has_mean_0_and_variance_1_over_it(architecture):
    network, inputs = TorchNetwork(architecture, SHAPE), data()
    weights = network.initial_weights(streams(0, 1))
    rescale_by_batch(network, weights, inputs)
    outputs = seen(architecture, RULES, weights, inputs, training=True, noise="off")
    assert len(outputs) == 4 + (architecture is BRANCHED)
    for layer, output in outputs:
        channels = output.transpose(1, 2).flatten(2)
        ones = torch.ones(2, output.shape[2])
        torch.testing.assert_close(channels.var(2, correction=0), ones, rtol=1e-4, atol=0)
        if layer.bias:
            assert channels.mean(2).abs().max() < 1e-5
        else:
            assert channels.mean(2).abs().max() > 1e-2


@pytest.mark.parametrize("architecture", [CHAIN, (*BRANCHED[:-3], Flatten(), Linear(3))])
def test_by_the_pixel_every_channel_of_it_has_mean_0_and_variance_1(architecture):
    network, pixel = TorchNetwork(architecture, SHAPE), Pixel.of_data(list(data()))
    weights = network.initial_weights(streams(0, 1))
    rescale_by_pixel(network, weights, pixel)
    for layer, output in seen(architecture, SINGLE_PIXEL_RULES, weights, pixel):
        found = output.statistic
        if layer.bias:
            assert found["mean"].abs().max() < 1e-5
        torch.testing.assert_close(found["variance"], torch.ones_like(found["variance"]))


def test_both_agree_on_white_noise_in_front_of_the_first_activation():
    network = TorchNetwork((Conv2d(3, 3),), SHAPE)
    start, inputs = network.initial_weights(streams(0)), data(1, 4000)
    by_batch, by_pixel = start.clone(), start.clone()
    rescale_by_batch(network, by_batch, inputs)
    rescale_by_pixel(network, by_pixel, Pixel.of_data(list(inputs)))
    torch.testing.assert_close(by_pixel, by_batch, rtol=0.02, atol=0.02)
    assert not torch.allclose(start, by_batch, atol=0.02)


def test_a_member_is_rescaled_as_if_it_were_alone():
    network, inputs = TorchNetwork(CHAIN, SHAPE), data()
    weights = network.initial_weights(streams(0, 1))
    together, alone = weights.clone(), weights[1:].clone()
    rescale_by_batch(network, together, inputs)
    rescale_by_batch(network, alone, inputs[1:])
    assert torch.equal(together[1:], alone)


def test_a_channel_that_does_not_vary_keeps_its_scale():
    network = TorchNetwork((Linear(2),), (3,))
    weights = torch.ones(1, 8)
    rescale_by_batch(network, weights, torch.full((1, 5, 3), 2.0))
    assert weights.tolist() == [[1, 1, 1, 1, 1, 1, -6, -6]]
