"""The truth is torch.nn, numpy's padding, and each member computed alone."""

import math
import subprocess
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bnnbench.methods.networks.architectures import (
    VOCABULARY,
    AnalyticNorm,
    AvgPool2d,
    BatchNorm,
    Conv2d,
    Dropout,
    FeatureResponseNorm,
    Flatten,
    GlobalAvgPool2d,
    LeakyReLU,
    Linear,
    LogisticBernoulli,
    MaxPool2d,
    ReLU,
    Residual,
    Sigmoid,
    Swish,
    Tanh,
)
from bnnbench.methods.networks.catalogue import (
    allconv_001,
    cnn_000,
    lenet_000,
    lenet_001,
    mlp,
    preresnet164,
    resnet18,
    resnet20_frn,
    vgg16,
    wideresnet28_10,
)
from bnnbench.methods.networks.torch_layers import RULES, affine
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.warm import python


class Sum(nn.Module):
    def __init__(self, body, shortcut):
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x):
        return self.body(x) + self.shortcut(x)


class FilterResponseNorm(nn.Module):
    def __init__(self, channels, epsilon):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels, 1, 1))
        self.bias = nn.Parameter(torch.zeros(channels, 1, 1))
        self.threshold = nn.Parameter(torch.zeros(channels, 1, 1))
        self.epsilon = epsilon

    def forward(self, x):
        scale = (x.pow(2).mean(dim=[2, 3], keepdim=True) + self.epsilon).sqrt()
        return torch.max(self.weight * x / scale + self.bias, self.threshold)


def module(architecture, shape):
    """Return the network out of torch's own modules, nested as the description is."""
    layers = []
    for layer in architecture:
        width = shape[0]
        match layer:
            case Linear(outputs, bias):
                layers.append(nn.Linear(width, outputs, bias))
            case Conv2d(channels, kernel, stride, int(padding), bias):
                layers.append(nn.Conv2d(width, channels, kernel, stride, padding, bias=bias))
            case Conv2d(channels, kernel, stride, (before, after), bias):
                pad = nn.ZeroPad2d((before, after, before, after))
                layers.append(nn.Conv2d(width, channels, kernel, stride, bias=bias))
                layers[-1].register_forward_pre_hook(lambda _, x, pad=pad: pad(x[0]))
            case LeakyReLU(slope):
                layers.append(nn.LeakyReLU(slope))
            case MaxPool2d(size):
                layers.append(nn.MaxPool2d(size))
            case AvgPool2d(size):
                layers.append(nn.AvgPool2d(size))
            case GlobalAvgPool2d():
                layers.append(nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()))
            case BatchNorm(momentum, epsilon):
                norm = nn.BatchNorm2d if len(shape) == 3 else nn.BatchNorm1d
                layers.append(norm(width, epsilon, momentum))
            case FeatureResponseNorm(epsilon):
                layers.append(FilterResponseNorm(width, epsilon))
            case Residual(body, shortcut):
                layers.append(Sum(module(body, shape), module(shortcut, shape)))
            case _:
                plain = {ReLU: nn.ReLU, Tanh: nn.Tanh, Sigmoid: nn.Sigmoid, Swish: nn.SiLU}
                plain |= {Flatten: nn.Flatten}
                layers.append(plain[type(layer)]())
        shape = layers[-1].eval()(torch.zeros(1, *shape)).shape[1:]
    return nn.Sequential(*layers)


def streams(members, seed=0):
    return [torch.Generator().manual_seed(seed + member) for member in range(members)]


def random(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def weights_of(network, members=1, dtype=torch.float64, scale=0.2):
    """Return initial weights, moved so that no scale is 1 and no offset 0."""
    start = network.initial_weights(streams(members), dtype=dtype)
    return start + scale * random(*start.shape, seed=9, dtype=dtype)


def load(twin, network, weights):
    with torch.no_grad():
        for part in network.parameters:
            values = weights[part.offset : part.stop]
            parameter = twin.get_parameter(part.path)
            parameter.copy_(values.view(parameter.shape))


def running_names(part):
    return part.path.replace("running_variance", "running_var")


BLOCK = Residual(
    (Conv2d(6, 3, 2, (0, 1)), FeatureResponseNorm(), Swish()), (Conv2d(6, 1, 2, bias=False),)
)
SMALL_NETWORKS = {
    "perceptron": (mlp((50,), 1), (13,)),
    "classifier": (mlp((33, 18), 10, LeakyReLU(0.1)), (7,)),
    "one input": (mlp((16, 16), 2, Tanh()), (1,)),
    "sigmoid": (mlp((9,), 3, Sigmoid(), norm=BatchNorm()), (5,)),
    "multiples of four": (mlp((256, 256), 4, Swish(), norm=BatchNorm()), (8,)),
    "residual": ((Conv2d(5, 3), BLOCK, MaxPool2d(2), Flatten(), Linear(3)), (3, 10, 10)),
    "norms": (
        (
            *(Conv2d(5, 3, bias=False), BatchNorm(), ReLU(), Conv2d(4, 1), AvgPool2d(2)),
            *(BatchNorm(), GlobalAvgPool2d(), Linear(3)),
        ),
        (1, 9, 9),
    ),
}


@pytest.mark.parametrize(
    ("architecture", "shape", "points"),
    [
        *((*network, 6) for network in SMALL_NETWORKS.values()),
        (cnn_000(), (3, 32, 32), 3),
        (lenet_000(), (1, 28, 28), 3),
        (lenet_001(norm=BatchNorm()), (1, 28, 28), 5),
        (allconv_001(norm=BatchNorm()), (3, 32, 32), 2),
        (resnet18(), (3, 8, 8), 3),
        (resnet20_frn(), (3, 32, 32), 2),
    ],
)
@pytest.mark.parametrize("training", [False, True])
def test_outputs_gradients_and_statistics_are_those_of_torch_modules(
    architecture, shape, points, training
):
    network = TorchNetwork(architecture, shape)
    weights = weights_of(network, scale=0.05).requires_grad_()
    twin = module(architecture, shape).double().train(training)
    load(twin, network, weights[0])
    buffers = network.initial_buffers(weights)
    buffers += 0.1 * random(*buffers.shape, seed=3).abs()
    for part in network.buffers:
        twin.get_buffer(running_names(part)).copy_(buffers[0, part.offset : part.stop])
    inputs = random(points, *shape, seed=1)

    outputs = network(weights, inputs[None], buffers=buffers, training=training)
    expected = twin(inputs)
    torch.testing.assert_close(outputs[0], expected, rtol=1e-9, atol=1e-9)

    direction = random(*expected.shape, seed=2)
    (gradient,) = torch.autograd.grad(outputs[0], weights, direction)
    expected.backward(direction)
    for part in network.parameters:
        own = twin.get_parameter(part.path).grad
        mine = gradient[0, part.offset : part.stop].view(own.shape)
        torch.testing.assert_close(mine, own, rtol=1e-7, atol=1e-8 * float(own.abs().max() + 1))
    for part in network.buffers:
        statistic = twin.get_buffer(running_names(part))
        torch.testing.assert_close(buffers[0, part.offset : part.stop], statistic)


@pytest.mark.parametrize(
    "architecture",
    [vgg16(), preresnet164(), wideresnet28_10(), resnet18(100), resnet20_frn(100)],
)
def test_large_networks_take_the_weights_that_their_layers_hold(architecture):
    plain = tuple(layer for layer in architecture if not isinstance(layer, Dropout))
    network = TorchNetwork(plain, (3, 32, 32))
    with torch.device("meta"):
        twin = module(plain, (3, 32, 32))
    assert network.parameter_count == sum(parameter.numel() for parameter in twin.parameters())
    assert [part.path for part in network.parameters] == [
        name for name, _ in twin.named_parameters()
    ]


NOISY_NETWORKS = {
    "dropout": (mlp((50, 7), 1, dropout=0.3), (13,)),
    "even dropout": (mlp((64, 8), 12, Tanh(), dropout=0.3), (12,)),
    "bernoulli": ((Linear(9), LogisticBernoulli(), Linear(3)), (5,)),
    "analytic norm": (mlp((50, 7), 3, LeakyReLU(0.1), AnalyticNorm(), 0.3), (13,)),
    "dropped images": ((Conv2d(3, 2), Dropout(0.5), Swish(), Flatten(), Linear(3)), (1, 5, 5)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("points", [32, 5, 2])
@pytest.mark.parametrize("name", [*SMALL_NETWORKS, *NOISY_NETWORKS])
def test_a_member_of_a_stack_is_what_it_is_alone_to_the_last_bit(name, points, dtype):
    architecture, shape = (SMALL_NETWORKS | NOISY_NETWORKS)[name]
    network = TorchNetwork(architecture, shape)
    members = 5
    weights = weights_of(network, members, dtype)
    inputs = random(members, points, *shape, seed=1, dtype=dtype)

    def results(chosen):
        own = weights[chosen].clone().requires_grad_()
        x = inputs[chosen].clone().requires_grad_()
        buffers = network.initial_buffers(own)
        rngs = streams(members, seed=5)[chosen]
        outputs = network(own, x, buffers=buffers, training=True, rngs=rngs)
        direction = random(members, *outputs.shape[1:], seed=2, dtype=dtype)[chosen].clone()
        gradients = torch.autograd.grad(outputs, (own, x), direction, allow_unused=True)
        with torch.no_grad():
            noise = "shared" if name in NOISY_NETWORKS else "off"
            evaluated = network(own, x, buffers=buffers, noise=noise, rngs=rngs)
        return [outputs, *(g for g in gradients if g is not None), buffers, evaluated]

    together = results(slice(None))
    for member in range(members):
        alone = results(slice(member, member + 1))
        for whole, part in zip(together, alone, strict=True):
            assert torch.equal(whole[member], part[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_products_of_every_size_are_the_same_in_a_stack_and_alone(dtype):
    rng = np.random.default_rng(0)
    for trial in range(150):
        members, points, features, outputs = (int(rng.integers(1, top)) for top in (9, 70, 90, 70))
        sizes = ((points, features), (outputs, features), (outputs,))
        everything = [
            random(members, *size, seed=trial + k, dtype=dtype) for k, size in enumerate(sizes)
        ]
        flat = torch.cat([tensor.flatten(1) for tensor in everything], 1)  # misplaces them

        def results(flat, sizes=sizes):
            pieces = flat.split([int(np.prod(size)) for size in sizes], 1)
            x, w, b = (p.view(-1, *s).clone() for p, s in zip(pieces, sizes, strict=True))
            return affine(x, w, b)

        own = flat.clone().requires_grad_()
        outputs = results(own)
        (gradient,) = torch.autograd.grad(outputs.square().sum(), own)
        for member in range(members):
            alone = flat[member : member + 1].clone().requires_grad_()
            output = results(alone)
            (single,) = torch.autograd.grad(output.square().sum(), alone)
            assert torch.equal(output[0], outputs[member]), sizes
            assert torch.equal(single[0], gradient[member]), sizes


def test_inputs_with_one_leading_row_are_shared_by_all_members():
    network = TorchNetwork(*SMALL_NETWORKS["residual"])
    weights, inputs = weights_of(network, 3), random(1, 4, 3, 10, 10)
    shared = network(weights, inputs)
    assert torch.equal(shared, network(weights, inputs.expand(3, -1, -1, -1, -1).contiguous()))


def test_what_agrees_in_no_number_of_members_is_refused():
    network = TorchNetwork(*SMALL_NETWORKS["sigmoid"])
    weights, inputs = weights_of(network, 3), random(3, 4, 5)
    with pytest.raises(ValueError, match="needed 1 or 3 members; got 2"):
        network(weights[:2], inputs[:1], rngs=streams(3), training=True)
    with pytest.raises(ValueError, match="buffers of 3 members; got 1"):
        network(weights, inputs, training=True, buffers=network.initial_buffers(weights[:1]))
    with pytest.raises(ValueError, match="buffers"):
        network(weights, inputs)


def test_every_word_of_architectures_has_a_rule():
    assert {*RULES, Residual} == set(VOCABULARY.values())


def test_an_unknown_word_for_noise_is_refused_without_a_type_checker(project):
    script = """
import torch
from bnnbench.methods.networks.torch_network import TorchNetwork
try:
    TorchNetwork((), (3,))(torch.empty(1, 0), torch.ones(1, 2, 3), noise="on")
except ValueError as error:
    assert "'on'" in str(error)
else:
    raise AssertionError
"""
    done = subprocess.run(python("-c", script), cwd=project, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


class TestNoise:
    ones = torch.ones(2, 400, 50)
    network = TorchNetwork((Dropout(0.3),), (50,))
    weights = torch.empty(2, 0)

    def test_dropout_is_off_unless_training_or_asked_for(self):
        assert torch.equal(self.network(self.weights, self.ones), self.ones)

    def test_dropout_keeps_the_mean_and_zeroes_at_its_rate(self):
        out = self.network(self.weights, self.ones, training=True, rngs=streams(2))
        assert out.unique().tolist() == [0.0, pytest.approx(1 / 0.7)]
        # 20,000 values a member: five standard deviations are 0.0162.
        assert ((out == 0).double().mean((1, 2)) - 0.3).abs().max() < 0.0162

    def test_training_masks_differ_between_points_and_shared_ones_do_not(self):
        call = partial(self.network, self.weights, self.ones)
        assert not torch.equal(*call(training=True, rngs=streams(2))[0, :2])
        shared = call(noise="shared", rngs=streams(2))
        assert torch.equal(shared, shared[:, :1].expand_as(shared))
        assert not torch.equal(shared[0], shared[1])

    def test_a_shared_mask_does_not_depend_on_the_points(self):
        whole = self.network(self.weights, self.ones, noise="shared", rngs=streams(2))
        half = self.network(self.weights, self.ones[:, :7], noise="shared", rngs=streams(2))
        assert torch.equal(whole[:, :7], half)

    def test_generators_make_members_of_one_weight_vector(self):
        out = self.network(self.weights[:1], self.ones[:1], noise="shared", rngs=streams(5))
        assert out.shape == (5, 400, 50)
        assert len(out[:, 0].unique(dim=0)) == 5

    def test_noise_without_generators_is_refused(self):
        with pytest.raises(ValueError, match="rngs, one for each of 2 members; got none"):
            self.network(self.weights, self.ones, training=True)

    def test_logistic_bernoulli_is_one_as_often_as_the_sigmoid_says(self):
        network = TorchNetwork((LogisticBernoulli(),), (3,))
        inputs = torch.tensor([-2.0, 0.0, 1.5]).expand(1, 40_000, 3).clone().requires_grad_()
        out = network(torch.empty(1, 0), inputs, noise="per_example", rngs=streams(1))
        assert not out.requires_grad
        assert set(out.unique().tolist()) == {0.0, 1.0}
        expected = torch.tensor([0.119203, 0.5, 0.817574])
        assert (out[0].mean(0) - expected).abs().max() < 0.0125  # five standard deviations
        off = network(torch.empty(1, 0), inputs)
        assert torch.equal(off, torch.sigmoid(inputs))
        assert off.requires_grad

    def test_the_global_generator_is_left_alone(self):
        before = torch.random.get_rng_state()
        self.network.initial_weights(streams(2))
        self.network(self.weights, self.ones, training=True, rngs=streams(2))
        assert torch.equal(before, torch.random.get_rng_state())


class TestNorms:
    images = random(1, 6, 4, 5, 5)

    def test_feature_response_forgets_the_scale_of_its_input(self):
        network = TorchNetwork((FeatureResponseNorm(),), (4, 5, 5))
        weights = weights_of(network)
        expected = network(weights, self.images)
        torch.testing.assert_close(network(weights, 7 * self.images), expected, rtol=0, atol=1e-5)

    def test_feature_response_of_a_point_does_not_depend_on_the_others(self):
        network = TorchNetwork((FeatureResponseNorm(),), (4, 5, 5))
        weights = weights_of(network)
        alone = network(weights, self.images[:, :1])
        torch.testing.assert_close(alone, network(weights, self.images)[:, :1])

    def test_batch_norm_of_a_point_depends_on_the_others_in_training_only(self):
        network = TorchNetwork((BatchNorm(),), (4, 5, 5))
        weights = weights_of(network)
        buffers = network.initial_buffers(weights)
        evaluate = partial(network, weights, buffers=buffers)
        torch.testing.assert_close(
            evaluate(self.images[:, :2]), evaluate(self.images)[:, :2], rtol=1e-12, atol=0
        )
        train = partial(network, weights, training=True)
        assert not torch.allclose(train(self.images[:, :2]), train(self.images)[:, :2], atol=0.01)

    def test_momentum_one_leaves_the_statistics_of_the_batch(self):
        network = TorchNetwork((BatchNorm(momentum=0.1),), (4, 5, 5))
        weights = weights_of(network)
        buffers = network.initial_buffers(weights)
        network(weights, self.images, buffers=buffers, training=True, momentum=1.0)
        flat = self.images[0].transpose(0, 1).flatten(1)
        torch.testing.assert_close(buffers[0], torch.cat([flat.mean(1), flat.var(1)]))


class TestResidual:
    def test_two_empty_branches_double(self):
        network = TorchNetwork((Residual(()),), (3,))
        assert torch.equal(network(torch.empty(1, 0), torch.ones(1, 2, 3)), 2 * torch.ones(1, 2, 3))

    @pytest.mark.parametrize(
        ("block", "after"),
        [(resnet18()[3:5], torch.relu), (preresnet164()[2:3], lambda x: x)],
    )
    def test_a_block_whose_last_convolution_is_zero_passes_its_input_on(self, block, after):
        width = 64
        network = TorchNetwork(block, (width, 6, 6))
        weights = network.initial_weights(streams(1))
        last = [part for part in network.parameters if len(part.shape) == 4][-1]
        weights[:, last.offset :] = 0  # the convolution, and the scale of its norm
        inputs = random(1, 3, width, 6, 6, dtype=torch.float32)
        out = network(weights, inputs, buffers=network.initial_buffers(weights))
        assert torch.equal(out, after(inputs))


class TestPadding:
    @pytest.mark.parametrize(("padding", "offset"), [((0, 1), 1), (1, 0)])
    def test_the_pair_moves_the_sampled_pixel(self, padding, offset):
        network = TorchNetwork((Conv2d(1, 3, 2, padding, bias=False),), (1, 8, 8))
        kernel = torch.zeros(3, 3)
        kernel[1, 1] = 1
        image = torch.arange(64.0).view(1, 1, 1, 8, 8)
        out = network(kernel.view(1, 9), image)
        assert torch.equal(out[0, 0, 0], image[0, 0, 0, offset::2, offset::2])

    @pytest.mark.parametrize("padding", [2, (1, 3), (3, 0)])
    def test_symmetric_padding_is_that_of_numpy(self, padding):
        image = np.arange(30.0).reshape(1, 1, 1, 5, 6)
        network = TorchNetwork(
            (Conv2d(1, 1, padding=padding, padding_mode="symmetric", bias=False),), (1, 5, 6)
        )
        out = network(torch.ones(1, 1, dtype=torch.float64), torch.from_numpy(image))
        expected = np.pad(image[0, 0, 0], padding, mode="symmetric")
        np.testing.assert_array_equal(out[0, 0, 0].numpy(), expected)


class TestInitialisation:
    @pytest.mark.parametrize(
        ("architecture", "shape", "rule", "std", "largest"),
        [
            ((Linear(512),), (1600,), "torch", 0.014434, 0.025),
            ((Linear(512),), (1600,), "he_fan_out", 0.014434, 0.025),
            ((Conv2d(512, 3),), (512, 3, 3), "he_fan_out", 0.020833, 0.2),
            ((Conv2d(512, 3),), (64, 3, 3), "torch", 0.024056, 1 / 24),
            ((Conv2d(512, 3),), (64, 3, 3), "he_truncated", 0.058926, 0.133979),
            ((Linear(512),), (576,), "he_truncated", 0.058926, 0.133979),
        ],
    )
    def test_weights_follow_the_stated_law(self, architecture, shape, rule, std, largest):
        network = TorchNetwork(architecture, shape)
        weight, bias = network.initial_weights(streams(1), rule)[0].split(
            [part.size for part in network.parameters]
        )
        assert float(weight.std()) == pytest.approx(std, rel=0.01)
        assert abs(float(weight.mean())) < 5 * std / len(weight) ** 0.5
        assert float(weight.abs().max()) <= largest
        if rule == "torch" or (rule == "he_fan_out" and len(shape) == 1):
            assert float(bias.std()) == pytest.approx(std, rel=0.15)
            assert float(bias.abs().max()) <= largest
        else:
            assert not bias.any()

    @pytest.mark.parametrize(
        ("layer", "shape", "bound", "bias_bound"),
        [
            (Linear(512), (1600,), math.sqrt(6 / (1600 + 512)), 1 / 40),
            (Conv2d(512, 3), (64, 3, 3), math.sqrt(6 / (64 * 9 + 512 * 9)), 1 / 24),
        ],
    )
    def test_xavier_weights_are_uniform_by_both_fans_and_biases_as_in_torch(
        self, layer, shape, bound, bias_bound
    ):
        network = TorchNetwork((layer,), shape)
        weight, bias = network.initial_weights(streams(1), "xavier")[0].split(
            [part.size for part in network.parameters]
        )
        for values, reach, within in ((weight, bound, 0.01), (bias, bias_bound, 0.15)):
            assert float(values.std()) == pytest.approx(reach / math.sqrt(3), rel=within)
            assert 0.98 * reach < float(values.abs().max()) <= reach

    def test_a_member_does_not_depend_on_the_others(self):
        network = TorchNetwork(*SMALL_NETWORKS["residual"])
        for rule in ("torch", "xavier", "he_fan_out", "he_truncated"):
            together = network.initial_weights(streams(3), rule)
            alone = network.initial_weights(streams(3)[1:2], rule)
            assert torch.equal(together[1:2], alone)
            assert not torch.equal(together[0], together[1])

    def test_norms_start_as_the_identity(self):
        network = TorchNetwork((FeatureResponseNorm(), BatchNorm()), (2, 3, 3))
        for rule in ("torch", "xavier", "he_fan_out", "he_truncated"):
            start = network.initial_weights(streams(1), rule)
            assert start.tolist() == [[1, 1, 0, 0, 0, 0, 1, 1, 0, 0]]
        assert network.initial_buffers(start).tolist() == [[0, 0, 1, 1]]


def local_reparametrisation(layer, stacks, x, now):
    """Return x w + b for w, b ~ N(mean, std²), drawn anew for every point."""
    mean, std = stacks
    expected = affine(x, mean["weight"], mean["bias"])
    variance = affine(x.square(), std["weight"].square(), std["bias"].square())
    return expected + variance.sqrt() * now.draw(
        expected, lambda row, rng: row.normal_(generator=rng)
    )


def test_a_method_may_replace_a_rule_and_pass_several_stacks():
    architecture, shape = (Linear(2), ReLU()), (3,)
    network = TorchNetwork(architecture, shape, {Linear: local_reparametrisation})
    draws = 60_000
    mean, std = random(1, 8, seed=4), random(1, 8, seed=5).abs()
    point = random(1, 1, 3, seed=6)
    local = network((mean, std), point.expand(1, draws, 3), noise="per_example", rngs=streams(1))[0]
    sampled = TorchNetwork(architecture, shape)(mean + std * random(draws, 8, seed=7), point)[:, 0]
    # Standard errors of the difference are below 0.02 for means and for second moments.
    scale = float(sampled.std())
    assert ((local.mean(0) - sampled.mean(0)) / scale).abs().max() < 5 * (2 / draws) ** 0.5
    assert (local.std(0) / sampled.std(0) - 1).abs().max() < 0.02


def test_convolutions_keep_images_channels_last():
    network = TorchNetwork((Conv2d(8, 3), LeakyReLU(0.1), MaxPool2d(2)), (3, 9, 9))
    for members in (1, 2):
        out = network(weights_of(network, members), random(members, 4, 3, 9, 9))
        assert out[0].is_contiguous(memory_format=torch.channels_last)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_functions_of_weights_have_derivatives_in_both_modes():
    network = TorchNetwork(mlp((6,), 2, Tanh()), (3,))
    weights, inputs = weights_of(network), random(1, 4, 3)
    direction = random(*weights.shape, seed=8)
    forward = torch.func.jvp(lambda w: network(w, inputs), (weights,), (direction,))[1]
    step = 1e-6
    around = [network(weights + sign * step * direction, inputs) for sign in (1, -1)]
    torch.testing.assert_close(forward, (around[0] - around[1]) / (2 * step), rtol=1e-6, atol=1e-8)
    torch.autograd.gradcheck(lambda w: F.softplus(network(w, inputs)), weights.requires_grad_())
