"""The statistic of a single pixel and the resulting norms, compared with matching data."""

import pytest
import torch

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Unsupported
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.rules import moment_rules
from bnnbench.methods.moments.single_pixel import SINGLE_PIXEL_RULES, Pixel
from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    AvgPool2d,
    BatchNorm,
    Conv2d,
    Dropout,
    Flatten,
    GlobalAvgPool2d,
    LeakyReLU,
    Linear,
    LogisticBernoulli,
    MaxPool2d,
    ReLU,
    Residual,
)
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import classification, images, stream, streams

DOUBLE = torch.float64
SHAPE = (2, 8, 8)
NORMED = (
    *(Conv2d(3, 3, bias=False), AnalyticNorm(), LeakyReLU(0.1), Dropout(0.2)),
    *(Conv2d(4, 2, 2, bias=False), AnalyticNorm(), Flatten(), Linear(2)),
)


def normals(*shape, seed=0):
    return torch.randn(*shape, generator=stream(seed), dtype=DOUBLE)


def noise(points, *shape):
    """Return images of white noise, with a mean and a scale per channel."""
    white = normals(points, *shape, seed=1)
    sides = (1,) * (len(shape) - 1)
    scale, offset = torch.tensor([0.5, 2.0]), torch.tensor([1.0, -0.3])
    return white * scale.view(-1, *sides) + offset.view(-1, *sides)


def made(architecture, shape=SHAPE, inputs=None, rules=None):
    """Return a network, its weights, and buffers with the inputs' statistics."""
    network = TorchNetwork(architecture, shape, rules)
    weights = network.initial_weights(streams(1), dtype=DOUBLE)
    weights += 0.2 * normals(*weights.shape, seed=5)
    data = noise(4000, *shape) if inputs is None else inputs
    return network, weights, network.initial_buffers(weights, [data])


def statistic(architecture, data):
    """Return the pixel's mean and variance behind a network, and the channels of the data."""
    shape = tuple(data.shape[1:])
    network, weights, buffers = made(architecture, shape, data)
    pixel = TorchNetwork(architecture, shape, SINGLE_PIXEL_RULES)(weights, Pixel.of_data([data]))
    options = {"buffers": buffers, "noise": "per_example", "rngs": streams(7)}
    outputs = network(weights, data[None], **options)[0].transpose(0, 1).flatten(1)
    found = pixel.statistic
    return found["mean"][0], found["variance"][0], outputs


@pytest.mark.parametrize(
    "architecture",
    [
        (Conv2d(3, 3),),
        (Conv2d(3, 3, 2), AnalyticNorm()),
        (AvgPool2d(2), Conv2d(3, 2, 2)),
        (Dropout(0.3), Conv2d(3, 2)),
        (GlobalAvgPool2d(), Linear(4)),
        (Flatten(), Linear(3)),
        (ReLU(), LogisticBernoulli()),
        (LeakyReLU(0.2),),
    ],
)
def test_the_pixel_describes_white_noise(architecture):
    data = noise(6000, *SHAPE)
    mean, variance, outputs = statistic(architecture, data)
    std = variance.sqrt()
    assert ((mean - outputs.mean(1)) / std).abs().max() < 0.05
    torch.testing.assert_close(std, outputs.std(1), rtol=0.06, atol=0)


def test_the_largest_of_equal_pixels_is_near_that_of_samples():
    mean, variance, outputs = statistic((MaxPool2d(2),), noise(4000, *SHAPE))
    std = outputs.std(1)
    assert ((mean - outputs.mean(1)) / std).abs().max() < 0.02
    assert (variance.sqrt() / std - 1).abs().max() < 0.04


def test_branches_add_and_sides_follow_convolutions_and_pools():
    architecture = (Conv2d(2, 3, 2, 1), Residual((Dropout(0.5),)), MaxPool2d(2))
    network = TorchNetwork(architecture[:1], SHAPE, SINGLE_PIXEL_RULES)
    weights = network.initial_weights(streams(1), dtype=DOUBLE)
    pixel = Pixel.of_data([noise(50, *SHAPE)])
    one = network(weights, pixel)
    assert one.sides == (4, 4)
    two = TorchNetwork(architecture[:2], SHAPE, SINGLE_PIXEL_RULES)(weights, pixel)
    torch.testing.assert_close(two.moments.mean, 2 * one.moments.mean)
    dropped = 2 * one.moments.variance + one.moments.mean**2
    torch.testing.assert_close(two.moments.variance, one.moments.variance + dropped)
    assert TorchNetwork(architecture, SHAPE, SINGLE_PIXEL_RULES)(weights, pixel).sides == (2, 2)


def test_a_norm_behind_one_convolution_standardises_white_noise():
    architecture = (Conv2d(3, 3, bias=False), AnalyticNorm())
    network, weights, buffers = made(architecture)
    scale, offset = weights[0, -6:].split(3)
    outputs = network(weights, noise(4000, *SHAPE)[None], buffers=buffers)[0]
    channels = outputs.transpose(0, 1).flatten(1)
    torch.testing.assert_close(channels.mean(1), offset, rtol=0, atol=0.03)
    torch.testing.assert_close(channels.std(1), scale.abs(), rtol=0.03, atol=0)


def test_a_norm_is_a_batch_norm_with_the_statistics_of_the_pixel():
    network, weights, buffers = made(NORMED)
    pixel = Pixel.of_data([noise(4000, *SHAPE)])
    places = [index for index, layer in enumerate(NORMED) if isinstance(layer, AnalyticNorm)]
    seen = []
    for place in places:
        front = TorchNetwork(NORMED[:place], SHAPE, SINGLE_PIXEL_RULES)
        seen += front(weights[:, : front.parameter_count], pixel).statistic.values()
    fixed = tuple(BatchNorm() if isinstance(layer, AnalyticNorm) else layer for layer in NORMED)
    twin, inputs = TorchNetwork(fixed, SHAPE), noise(5, *SHAPE)[None]
    expected = twin(weights, inputs, buffers=torch.cat(seen, 1))
    torch.testing.assert_close(network(weights, inputs, buffers=buffers), expected)


def test_moments_are_normalised_as_numbers_are():
    network, weights, buffers = made(NORMED)
    rules = TorchNetwork(NORMED, SHAPE, moment_rules())
    inputs = noise(5, *SHAPE)[None]
    options = {"buffers": buffers, "training": True, "noise": "per_example"}
    y = rules(weights, Moments(inputs), **options)
    draws = network(
        weights, inputs.expand(1, -1, *SHAPE).repeat(1, 4000, 1, 1, 1), **options, rngs=streams(1)
    )[0].view(4000, 5, 2)
    std = draws.std(0)
    assert ((y.mean[0] - draws.mean(0)) / std).abs().max() < 0.1
    assert (y.variance[0].sqrt() / std - 1).abs().max() < 0.4  # none is tracked for covariances


@pytest.mark.parametrize("moments", [False, True])
def test_weights_have_the_gradient_that_finite_differences_find(moments):
    network, weights, buffers = made(NORMED, rules=moment_rules() if moments else None)
    inputs = noise(3, *SHAPE)[None]

    def outputs(w):
        y = network(w, Moments(inputs) if moments else inputs, buffers=buffers)
        return (y.mean, y.variance) if moments else y

    torch.autograd.gradcheck(outputs, weights.requires_grad_(), fast_mode=True)


def test_the_scale_of_weights_in_front_of_a_norm_does_not_matter():
    network, weights, buffers = made(NORMED)
    inputs = noise(3, *SHAPE)[None]
    larger = weights.clone()
    (first,) = (part for part in network.parameters if part.path == "0.weight")
    larger[:, : first.stop] *= 7
    torch.testing.assert_close(
        network(larger, inputs, buffers=buffers),
        network(weights, inputs, buffers=buffers),
        rtol=0,
        atol=1e-4,
    )


def test_points_and_batches_do_not_matter_and_statistics_are_needed():
    network, weights, buffers = made(NORMED)
    inputs = noise(6, *SHAPE)[None]
    together = network(weights, inputs, buffers=buffers, training=True, noise="off")
    alone = network(weights, inputs[:, :2], buffers=buffers)
    torch.testing.assert_close(together[:, :2], alone)
    for rules in (None, moment_rules()):
        bare = TorchNetwork(NORMED, SHAPE, rules)
        x = inputs if rules is None else Moments(inputs)
        with pytest.raises(ValueError, match="starts from the statistics of the inputs"):
            bare(weights, x)


def test_buffers_hold_the_statistics_of_each_members_inputs():
    network = TorchNetwork(NORMED, SHAPE)
    weights = network.initial_weights(streams(0, 1))
    sets = [normals(30, *SHAPE, seed=seed).float() for seed in (1, 2)]
    assert network.initial_buffers(weights).tolist() == [[0, 0, 1, 1]] * 2
    for row, data in zip(network.initial_buffers(weights, sets), sets, strict=True):
        channels = data.transpose(0, 1).flatten(1)
        expected = torch.cat([channels.mean(1), channels.var(1, correction=0)])
        torch.testing.assert_close(row, expected)


def test_batch_norms_and_analytic_norms_do_not_mix():
    mixed = (Linear(3), BatchNorm(), Linear(3), AnalyticNorm())
    network, weights, buffers = made(mixed, (2,))
    with pytest.raises(Unsupported, match="no BatchNorm beside AnalyticNorm"):
        network(weights, noise(4, 2)[None], buffers=buffers)


@pytest.mark.parametrize("method", [AdamW(1e-2, epochs=60), Mfvi(1e-2, epochs=60, draws=4)])
def test_other_methods_train_networks_with_analytic_norms(method):
    for make, first in (
        (classification, Linear(8, bias=False)),
        (images, Conv2d(4, 3, bias=False)),
    ):
        problem = make(0, 60)
        tail = () if make is classification else (Flatten(),)
        architecture = (first, AnalyticNorm(), ReLU(), *tail, Linear(3))
        own = type(problem)(problem.train, problem.likelihood, architecture)
        prediction = method.fit(own, stream(0)).predict(own.train.inputs, stream(1))
        assert float(prediction.log_prob(own.train.targets).mean()) > -0.75  # guessing: -1.1
