"""Networks compared with torch.nn, numpy's padding, and each member computed separately."""

import subprocess

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from bnnbench.methods.networks.architectures import (
    VOCABULARY,
    AnalyticNorm,
    BatchNorm,
    Conv2d,
    Dropout,
    Flatten,
    LeakyReLU,
    Linear,
    LogisticBernoulli,
    MaxPool2d,
    ReLU,
    Residual,
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
from tests.methods.networks.networks import SMALL_NETWORKS, random, streams, weights_of
from tests.methods.networks.twins import load, module, running_names
from tests.warm import python


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
def test_outputs_gradients_and_statistics_agree_with_torch_modules(
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
