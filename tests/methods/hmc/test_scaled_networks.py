"""Networks in the common scale of their weights: outputs, losses, gradients, trajectories."""

import pytest
import torch

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.hmc.compiled import CompiledPerceptron
from bnnbench.methods.hmc.method import scaled_network
from bnnbench.methods.hmc.scaled_networks import AnyScaledNetwork
from bnnbench.methods.hmc.scaled_perceptron import ScaledPerceptron
from bnnbench.methods.networks.architectures import Flatten, LeakyReLU, Linear, ReLU, Swish, Tanh
from bnnbench.methods.networks.catalogue import mlp
from tests.methods.problems import stream

NETWORKS = {
    "linear": mlp([], 2),
    "one hidden layer": mlp([5], 1),
    "widths that need no padding": mlp([3, 7], 4),
    "three hidden layers": mlp([6, 4, 5], 3, activation=Tanh()),
    "leaky": mlp([9], 2, activation=LeakyReLU(0.1)),
}
MEMBERS, ROWS, FEATURES = 3, 10, 4


def problem(architecture, categorical=False, rows=ROWS, shape=(FEATURES,), dtype=torch.float64):
    rng = stream(0)
    outputs = architecture[-1].outputs
    inputs = torch.randn(rows, *shape, generator=rng, dtype=dtype)
    labels = torch.randint(outputs, (rows,), generator=rng)
    real = torch.randn(rows, outputs, generator=rng, dtype=dtype)
    likelihood = Categorical(outputs) if categorical else Gaussian()
    return Problem(Split(inputs, labels if categorical else real), likelihood, architecture)


def states_of(network, seed=1):
    shape = MEMBERS, len(network.free)
    return torch.randn(shape, generator=stream(seed), dtype=torch.float64) * network.free


def loss_of(network, problem, states):
    train = problem.train
    inputs = train.inputs.expand(MEMBERS, *train.inputs.shape)
    targets = train.targets.expand(MEMBERS, *train.targets.shape)
    loss = network.loss(inputs, targets, problem.likelihood)
    loss.states.copy_(states)
    loss.differentiate()
    return loss


@pytest.mark.parametrize("kind", [ScaledPerceptron, AnyScaledNetwork])
def test_every_layer_divides_by_the_root_of_its_inputs_and_bias(kind):
    given = problem(mlp([3], 2, activation=Tanh()))
    network = kind.of(given)
    states = states_of(network)
    parameters = [states[:, places] for places in network.groups]
    first, second = parameters[0].view(-1, 3, 4), parameters[2].view(-1, 2, 3)
    x = given.train.inputs
    hidden = torch.tanh((x @ first.mT + parameters[1][:, None]) / 5**0.5)
    expected = (hidden @ second.mT + parameters[3][:, None]) / 4**0.5
    torch.testing.assert_close(network.outputs(states, x), expected)
    torch.testing.assert_close(loss_of(network, given, states).outputs(7), expected[:, :7])


def test_a_layer_without_bias_divides_by_the_root_of_its_inputs():
    given = problem((Linear(2, bias=False),))
    network = AnyScaledNetwork.of(given)
    states = states_of(network)
    weights = states[:, :8].view(-1, 2, 4) / 2
    expected = given.train.inputs @ weights.mT
    torch.testing.assert_close(network.outputs(states, given.train.inputs), expected)


@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("kind", [ScaledPerceptron, AnyScaledNetwork])
def test_gradients_agree_with_finite_differences(kind, name, categorical):
    given = problem(NETWORKS[name], categorical)
    network = kind.of(given)
    states, direction = states_of(network), states_of(network, seed=2)
    gradients = loss_of(network, given, states).gradients.clone()
    step = 1e-5
    after = loss_of(network, given, states + step * direction).value()
    before = loss_of(network, given, states - step * direction).value()
    slopes = (gradients * direction * network.free).sum(1)
    torch.testing.assert_close(slopes, (after - before) / (2 * step), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_written_out_and_automatic_losses_and_gradients_agree(name, categorical):
    given = problem(NETWORKS[name], categorical)
    written, automatic = ScaledPerceptron.of(given), AnyScaledNetwork.of(given)
    states = states_of(written)
    places = torch.cat(written.groups)
    same = torch.zeros(MEMBERS, len(automatic.free), dtype=torch.float64)
    same[:, : len(places)] = states[:, places]
    torch.testing.assert_close(written.weights(states), automatic.weights(same))
    x = given.train.inputs
    torch.testing.assert_close(written.outputs(states, x), automatic.outputs(same, x))
    one, other = loss_of(written, given, states), loss_of(automatic, given, same)
    torch.testing.assert_close(one.value(), other.value())
    torch.testing.assert_close(one.outputs(5), other.outputs(5))
    torch.testing.assert_close(one.gradients[:, places], other.gradients[:, : len(places)])


def test_losses_agree_with_torch():
    given = problem(mlp([5], 3), categorical=True)
    network = ScaledPerceptron.of(given)
    states = states_of(network)
    logits = network.outputs(states, given.train.inputs)
    expected = [
        torch.nn.functional.cross_entropy(own, given.train.targets, reduction="sum")
        for own in logits
    ]
    torch.testing.assert_close(loss_of(network, given, states).value(), torch.stack(expected))


def test_many_points_and_draws_are_predicted_in_parts():
    given = problem(mlp([40], 1), rows=1300)
    network = ScaledPerceptron.of(given)
    states = torch.randn(150, len(network.free), dtype=torch.float64, generator=stream(3))
    states *= network.free
    assert network.members_at_once(512) < 100
    whole = network.outputs(states, given.train.inputs)
    one = network.outputs(states[140:141], given.train.inputs[1234:1235])
    torch.testing.assert_close(whole[140:141, 1234:1235], one)


def test_images_are_flattened_as_by_the_architecture():
    given = problem((Flatten(), *mlp([5], 2)), shape=(2, 3, 3))
    written, automatic = ScaledPerceptron.of(given), AnyScaledNetwork.of(given)
    states = states_of(written)
    same = torch.zeros(MEMBERS, len(automatic.free), dtype=torch.float64)
    same[:, : len(torch.cat(written.groups))] = states[:, torch.cat(written.groups)]
    x = given.train.inputs
    torch.testing.assert_close(written.outputs(states, x), automatic.outputs(same, x))


def test_activations_without_a_written_gradient_are_left_to_autograd():
    for activation in (Swish(), LeakyReLU(-0.5)):
        with pytest.raises(Unsupported, match="needed"):
            ScaledPerceptron.of(problem(mlp([5], 1, activation=activation)))


def test_zero_is_a_fixed_point_of_padding():
    given = problem((Linear(2), ReLU(), Linear(1)), rows=5)
    network = ScaledPerceptron.of(given)
    assert int(network.free.sum()) == 2 * 5 + 3
    assert len(network.free) % 32 == 0
    states = states_of(network)
    loss = loss_of(network, given, states)
    assert loss.gradients[:, ~network.free].abs().max() > 0  # unused, so must have no effect
    one = torch.ones(MEMBERS, 1, dtype=torch.float64)
    steps = torch.full((MEMBERS,), 9)
    loss.leapfrog(states_of(network, 2), 0.1 * network.free * one, -0.1 * one, -0.1 * one, steps)
    assert (loss.states - states)[:, network.free].abs().min() > 0
    assert (loss.states[:, ~network.free] == 0).all()


RECTIFIED = {
    "linear": mlp([], 2),
    "one hidden layer": mlp([5], 1),
    "as many units as fill vectors": mlp([15, 31, 16], 3),
    "leaky": mlp([50, 9], 1, activation=LeakyReLU(0.1)),
    "a steep leak": mlp([20], 4, activation=LeakyReLU(1.5)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rows", [1, 63, 64, 131])
@pytest.mark.parametrize("name", RECTIFIED)
def test_compiled_losses_gradients_and_trajectories_agree_with_torch(name, rows, dtype):
    given = problem(RECTIFIED[name], rows=rows, shape=(13,), dtype=dtype)
    compiled, written = CompiledPerceptron.of(given), ScaledPerceptron.of(given)
    states, momenta = (states_of(written, seed).to(dtype) for seed in (1, 2))
    one, other = (loss_of(network, given, states) for network in (compiled, written))
    free = written.free
    close = {"rtol": 1e-3, "atol": 1e-3} if dtype == torch.float32 else {}

    def assert_equal_losses():
        torch.testing.assert_close(one.value(), other.value(), rtol=close.get("rtol", 1e-7), atol=0)
        torch.testing.assert_close(one.outputs(50), other.outputs(50), **close)
        torch.testing.assert_close(one.gradients[:, free], other.gradients[:, free], **close)

    assert_equal_losses()
    start, ends = one.value(), [momenta.clone(), momenta.clone()]
    scale = torch.ones(MEMBERS, 1, dtype=dtype)
    for loss, moved in zip((one, other), ends, strict=True):
        kicks = -0.02 / rows * scale, -0.03 * scale
        loss.leapfrog(moved, 0.02 * free * scale, *kicks, torch.tensor([1, 9, 4]))
    assert_equal_losses()
    assert (one.value() - start).abs().min() > 1e-4
    torch.testing.assert_close(one.states, other.states, **close)
    torch.testing.assert_close(ends[0][:, free], ends[1][:, free], **close)
    assert (one.states[:, ~free] == 0).all()


def test_a_compiled_member_is_the_same_alone():
    given = problem(mlp([5], 1), dtype=torch.float32)
    network = CompiledPerceptron.of(given)
    states = states_of(network).float()
    together = loss_of(network, given, states)
    train = given.train
    alone = network.loss(train.inputs[None], train.targets[None], given.likelihood)
    alone.states.copy_(states[1:2])
    alone.differentiate()
    assert torch.equal(alone.value(), together.value()[1:2])
    assert torch.equal(alone.gradients, together.gradients[1:2])


def test_a_number_that_is_none_does_not_become_one_on_its_way_through_a_compiled_network():
    given = problem(mlp([5, 5], 1))
    network = CompiledPerceptron.of(given)
    states = states_of(network)
    states[1, network.groups[0][0]] = float("nan")
    value = loss_of(network, given, states).value()
    assert value.isnan().tolist() == [False, True, False]


@pytest.mark.parametrize(
    "other",
    [
        problem(mlp([5], 2), categorical=True),
        problem(mlp([5], 1, activation=Tanh())),
        problem(mlp([5], 1), dtype=torch.bfloat16),
    ],
)
def test_what_is_not_compiled_is_left_to_torch(other):
    with pytest.raises(Unsupported, match="needed"):
        CompiledPerceptron.of(other)
    assert type(scaled_network(other)) is ScaledPerceptron


def test_the_backend_decides():
    given = problem(mlp([5], 1))
    assert type(scaled_network(given, "compiled")) is CompiledPerceptron
    assert type(scaled_network(given, "torch")) is ScaledPerceptron
