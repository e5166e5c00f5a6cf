"""Losses and gradients, compared with torch's distributions and with finite differences."""

import pytest
import torch
from torch.distributions import Categorical as Labels
from torch.distributions import Normal

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.mile.compiled import CompiledLoss
from bnnbench.methods.mile.losses import AutogradLoss, loss_of
from bnnbench.methods.mile.model import Model
from bnnbench.methods.networks.architectures import LeakyReLU, Tanh
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import images, stream

NETWORKS = {
    "linear": mlp([], 1),
    "one hidden layer": mlp([5], 1),
    "two targets, as many units as fill vectors": mlp([16, 31], 2),
    "three classes": mlp([9, 4], 3),
    "a few units, of an odd number, above others": mlp([6, 3], 2),
    "more outputs than pairs": mlp([6], 5),
    "leaky": mlp([20, 7], 1, activation=LeakyReLU(0.1)),
}
LIKELIHOODS = {"learned": Gaussian(), "known": Gaussian(0.3), "classes": None}
MEMBERS = 3


def problem(network, likelihood, rows=10, dtype=torch.float64):
    rng, outputs = stream(0), NETWORKS[network][-1].outputs
    inputs = torch.randn(rows, 4, generator=rng, dtype=dtype)
    labels = torch.randint(outputs, (rows,), generator=rng)
    real = torch.randn(rows, outputs, generator=rng, dtype=dtype)
    given = LIKELIHOODS[likelihood] or Categorical(outputs)
    targets = labels if isinstance(given, Categorical) else real
    return Problem(Split(inputs, targets), given, NETWORKS[network])


def differentiated(kind, given, states=None):
    model = Model.of(given)
    loss = kind(model, [given.train] * MEMBERS)
    if states is None:
        states = 0.5 * torch.randn(loss.states.shape, generator=stream(1), dtype=torch.float64)
    loss.states.copy_(states)
    loss.differentiate()
    return loss


def expected(given, states):
    """Return the loss of each member by torch's distributions."""
    model = Model.of(given)
    network = TorchNetwork(model.architecture, given.input_shape)
    outputs = network(states.to(given.train.inputs), given.train.inputs[None])
    if isinstance(given.likelihood, Categorical):
        return -Labels(logits=outputs).log_prob(given.train.targets).double().sum(1)
    means, stds = outputs, given.likelihood.noise_std
    if stds is None:
        means, raw = outputs.chunk(2, -1)
        stds = torch.nn.functional.softplus(raw) + 1e-6
    return -Normal(means, stds).log_prob(given.train.targets).double().sum((1, 2))


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("kind", [CompiledLoss, AutogradLoss])
def test_losses_agree_with_torchs_distributions_and_gradients_with_differences(
    kind, network, likelihood
):
    given = problem(network, likelihood)
    loss = differentiated(kind, given)
    states, value = loss.states.clone(), loss.value()
    torch.testing.assert_close(value, expected(given, states))
    gradients = loss.gradients.clone()
    direction = torch.randn(states.shape, generator=stream(2), dtype=torch.float64)
    step = 1e-6
    after, before = (
        differentiated(kind, given, states + sign * step * direction).value() for sign in (1, -1)
    )
    slopes = (gradients * direction).sum(1)
    torch.testing.assert_close(slopes, (after - before) / (2 * step), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rows", [1, 63, 64, 131])
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_compiled_gradients_agree_with_automatic_ones_for_every_block(likelihood, rows, dtype):
    given = problem("leaky", likelihood, rows, dtype)
    compiled, automatic = (differentiated(kind, given) for kind in (CompiledLoss, AutogradLoss))
    close = {"rtol": 2e-3, "atol": 2e-3} if dtype == torch.float32 else {}
    torch.testing.assert_close(compiled.value(), automatic.value(), **close)
    torch.testing.assert_close(compiled.gradients, automatic.gradients, **close)
    torch.testing.assert_close(compiled.outputs(50), automatic.outputs(50), **close)


def test_members_have_rows_of_their_own():
    given, other = problem("one hidden layer", "learned"), problem("one hidden layer", "learned")
    moved = Split(other.train.inputs + 1, other.train.targets)
    for kind in (CompiledLoss, AutogradLoss):
        loss = kind(Model.of(given), [given.train, moved, given.train])
        loss.states[:] = torch.linspace(-1, 1, loss.states.shape[1], dtype=torch.float64)
        loss.differentiate()
        value = loss.value()
        assert value[0] == value[2] != value[1]


def test_a_number_that_is_none_is_not_left_out_of_the_sum():
    given = problem("one hidden layer", "learned")
    for kind in (CompiledLoss, AutogradLoss):
        states = torch.zeros(MEMBERS, Model.of(given).network.parameter_count).double()
        states[1, 0] = torch.nan
        assert differentiated(kind, given, states).value().isnan().tolist() == [False, True, False]


def test_what_is_not_compiled_is_left_to_torch():
    tanh = Problem(problem("linear", "known").train, Gaussian(), mlp([5], 1, activation=Tanh()))
    for given in (tanh, images()):
        assert type(loss_of(Model.of(given), [given.train], "compiled")) is AutogradLoss
        with pytest.raises(Unsupported, match="needed"):
            CompiledLoss(Model.of(given), [given.train])
    rectified = problem("one hidden layer", "learned")
    for backend, kind in (("compiled", CompiledLoss), ("torch", AutogradLoss)):
        assert type(loss_of(Model.of(rectified), [rectified.train], backend)) is kind


def test_members_are_differentiated_in_parts(monkeypatch):
    given = problem("one hidden layer", "learned")
    whole = differentiated(AutogradLoss, given)
    monkeypatch.setattr("bnnbench.methods.mile.losses.ROWS_AT_ONCE", 20)
    parts = differentiated(AutogradLoss, given)
    torch.testing.assert_close(whole.gradients, parts.gradients)
    torch.testing.assert_close(whole.value(), parts.value())
    torch.testing.assert_close(whole.outputs(4), parts.outputs(4))
