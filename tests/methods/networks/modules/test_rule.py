"""A module run with our weights, compared with the module itself."""

import copy

import pytest
import torch
from torch import nn

from bnnbench.methods.base import Unsupported
from bnnbench.methods.networks.architectures import Linear, TorchModule
from bnnbench.methods.networks.modules.building import built
from bnnbench.methods.networks.modules.drawing import Drawing, with_own_streams
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.trajectory.running_statistics import recomputed
from tests.methods.networks.modules.examples import (
    CLASSIFIER,
    MLP,
    RESNET,
    Mlp,
    ResNet,
    Undisciplined,
)
from tests.methods.problems import stream, streams

IMAGES = torch.randn(9, 2, 8, 8, generator=stream(4))
ROWS = torch.randn(9, 4, generator=stream(5))


def module_with(network, weights, buffers, module):
    """Return the module with a member's weights and statistics, as in torch."""
    state = {}
    for flat, slices in ((weights, network.parameters), (buffers, network.buffers)):
        for part in slices:
            state[part.name_in_step] = flat[part.offset : part.stop].view(part.shape).clone()
    module.load_state_dict(state, strict=False)
    return module


def at_random(network, members):
    weights = network.initial_weights(streams(*range(members)))
    return weights, network.initial_buffers(weights)


@pytest.mark.parametrize("training", [False, True])
def test_each_member_is_the_module_with_its_weights(training):
    network = TorchNetwork(RESNET, (2, 8, 8))
    weights, buffers = at_random(network, 3)
    modules = [
        module_with(network, w, b, ResNet()).train(training)
        for w, b in zip(weights, buffers, strict=True)
    ]
    outputs = network(weights, IMAGES[None], buffers=buffers, training=training)
    for member, module in enumerate(modules):
        torch.testing.assert_close(outputs[member], module(IMAGES))
        state = module.state_dict()
        for part in network.buffers:
            moved = buffers[member, part.offset : part.stop]
            torch.testing.assert_close(moved, state[part.name_in_step])


def test_gradients_agree_with_the_module():
    network = TorchNetwork(RESNET, (2, 8, 8))
    weights, buffers = at_random(network, 2)
    weights.requires_grad_()
    (gradient,) = torch.autograd.grad(
        network(weights, IMAGES[None], buffers=buffers, training=True).square().sum(), weights
    )
    for member in range(2):
        module = module_with(network, weights[member].detach(), buffers[member], ResNet())
        module(IMAGES).square().sum().backward()
        for part in network.parameters:
            expected = module.get_parameter(part.name_in_step).grad
            got = gradient[member, part.offset : part.stop].view(part.shape)
            torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def test_evaluation_changes_no_statistics():
    network = TorchNetwork(RESNET, (2, 8, 8))
    weights, buffers = at_random(network, 1)
    before = buffers.clone()
    first = network(weights, IMAGES[None], buffers=buffers)
    network(weights, IMAGES[None], buffers=buffers, training=True)
    assert not torch.equal(buffers, before)
    assert torch.equal(network(weights, IMAGES[None], buffers=before), first)


def test_recomputed_statistics_agree_with_torch_over_all_points():
    """`torch.optim.swa_utils.update_bn` averages batches of equal size in the same way."""
    network = TorchNetwork(RESNET, (2, 8, 8))
    weights, buffers = at_random(network, 2)
    points = torch.randn(12, 2, 8, 8, generator=stream(6))
    found = recomputed(network, weights, points, buffers, 4)
    for member in range(2):
        module = module_with(network, weights[member], buffers[member], ResNet())
        torch.optim.swa_utils.update_bn(points.split(4), module)
        state = module.state_dict()
        for part in network.buffers:
            own = found[member, part.offset : part.stop]
            torch.testing.assert_close(own, state[part.name_in_step], rtol=1e-4, atol=1e-5)


def test_a_frozen_part_stays_in_evaluation_mode_with_its_own_statistics():
    frozen = TorchModule(ResNet, 3, frozen=("*", "!fc.*"))
    network = TorchNetwork((frozen,), (2, 8, 8))
    assert network.buffer_count == 0
    (weights, buffers), module = at_random(network, 1), built(frozen, 0).eval()
    module_with(network, weights[0], buffers[0], module)
    outputs = network(weights, IMAGES[None], buffers=buffers, training=True)
    assert torch.equal(outputs[0], module(IMAGES))


def test_a_batch_norm_with_frozen_statistics_alone_trains_its_scale():
    layer = TorchModule(ResNet, 3, frozen=("*running_*",))
    network = TorchNetwork((layer,), (2, 8, 8))
    assert network.buffer_count == 0
    assert "0.bn1.weight" in [part.path for part in network.parameters]
    weights, buffers = at_random(network, 1)
    first = network(weights, IMAGES[None], buffers=buffers, training=True)
    assert torch.equal(network(weights, IMAGES[None], buffers=buffers), first)


def test_dropout_draws_from_the_streams_of_members_alone():
    network = TorchNetwork((TorchModule(Mlp, 1, arguments={"dropout": 0.5}),), (4,))
    weights, buffers = at_random(network, 2)

    def outputs(*seeds: int, noise: str = "per_example"):
        rngs = streams(*seeds)
        return network(weights, ROWS[None], buffers=buffers, training=True, noise=noise, rngs=rngs)

    assert torch.equal(outputs(1, 2)[0], outputs(1, 3)[0])
    assert not torch.equal(outputs(1, 2)[1], outputs(1, 3)[1])
    off = network(weights, ROWS[None], buffers=buffers)
    assert torch.equal(outputs(1, 2, noise="off"), off)
    same = network(weights[:1], ROWS[:1].expand(1, 9, 4), noise="shared", rngs=streams(3))
    assert torch.equal(same, same[:, :1].expand_as(same))


def test_members_with_one_generator_draw_the_same_numbers():
    network = TorchNetwork((TorchModule(Mlp, 1, arguments={"dropout": 0.5}),), (4,))
    weights, buffers = at_random(network, 1)
    rng = stream(1)
    (one,) = network(weights, ROWS[None], buffers=buffers, training=True, rngs=[rng])
    after, rng = rng.get_state(), stream(1)
    pair = weights.expand(2, -1)
    both = network(pair, ROWS[None], buffers=buffers.expand(2, -1), training=True, rngs=[rng, rng])
    assert torch.equal(both[0], one)
    assert torch.equal(both[1], one)
    assert torch.equal(rng.get_state(), after)


def test_dropout_keeps_the_expectation():
    module = nn.Sequential(nn.Dropout(0.25), nn.Dropout2d(0.5))
    drawing = Drawing("per_example", stream(0))
    with_own_streams(module, drawing)
    x = torch.ones(4000, 3, 2, 2)
    assert float(module[0](x).mean()) == pytest.approx(1, abs=0.02)
    channels = module[1](x)
    assert set(channels.unique().tolist()) == {0.0, 2.0}
    assert torch.equal(channels, channels[..., :1, :1].expand_as(channels))
    assert float(channels.mean()) == pytest.approx(1, abs=0.03)


def test_a_module_that_draws_by_itself_follows_the_stream_and_replaced_buffers_are_kept():
    layer = TorchModule(Undisciplined, 1)
    network = TorchNetwork((layer,), (4,))
    names = [part.name_in_step for part in network.buffers]
    assert {"largest", "norm.num_batches_tracked"} <= {*names}
    assert "again.weight" not in [part.name_in_step for part in network.parameters]
    weights, buffers = at_random(network, 1)
    module = module_with(network, weights[0], buffers[0], Undisciplined())
    global_state = torch.get_rng_state()

    def trained(seed: int):
        moved = buffers.clone()
        for batch in ROWS.split(3):
            out = network(weights, batch[None], buffers=moved, training=True, rngs=streams(seed))
        return out, moved

    (first, moved), (again, _), (other, _) = trained(1), trained(1), trained(2)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), global_state)
    for batch in ROWS.split(3):
        module(batch)
    state = module.state_dict()
    for part in network.buffers:
        found = moved[0, part.offset : part.stop].view(part.shape)
        torch.testing.assert_close(found, state[part.name_in_step].to(found))
    assert float(state["norm.num_batches_tracked"]) == 3
    expected = module.eval()(ROWS)
    torch.testing.assert_close(network(weights, ROWS[None], buffers=moved)[0], expected)
    with pytest.raises(Unsupported, match=r"nn\.Dropout"):
        network(weights, ROWS[None], buffers=moved, noise="shared", rngs=streams(1))


@pytest.mark.parametrize("training", [False, True])
def test_stacked_members_equal_those_computed_separately(training):
    stacked = TorchModule(Mlp, 3, arguments={"outputs": 3}, stacked=True)
    side_by_side, alone = TorchNetwork((stacked,), (4,)), TorchNetwork(CLASSIFIER, (4,))
    weights = alone.initial_weights(streams(1, 2, 3))
    rows = torch.randn(3, 7, 4, generator=stream(0))
    rngs = streams(1, 2, 3)
    torch.testing.assert_close(
        side_by_side(weights, rows, training=training, rngs=rngs),
        alone(weights, rows, training=training, rngs=rngs),
    )


def test_a_module_may_stand_between_our_layers():
    body = TorchModule(nn.Linear, 5, arguments={"in_features": 4, "out_features": 5})
    network = TorchNetwork((Linear(4), body, Linear(2)), (3,))
    (weights,), x = network.initial_weights([stream(1)]), torch.randn(6, 3, generator=stream(2))
    expected, start = x, 0
    for inputs, outputs in ((3, 4), (4, 5), (5, 2)):
        matrix = weights[start : start + inputs * outputs].view(outputs, inputs)
        start += inputs * outputs
        expected = expected @ matrix.T + weights[start : start + outputs]
        start += outputs
    torch.testing.assert_close(network(weights[None], x[None])[0], expected)


def test_calls_leave_the_module_of_the_layer_as_it_was():
    network = TorchNetwork(MLP, (4,))
    before = copy.deepcopy(built(MLP[0], 0).state_dict())
    network(network.initial_weights([stream(9)]), ROWS[None], training=True, rngs=streams(0))
    for name, tensor in built(MLP[0], 0).state_dict().items():
        assert torch.equal(tensor, before[name])
