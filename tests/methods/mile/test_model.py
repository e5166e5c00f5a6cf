"""The network, the likelihood and the prior that both samplers share."""

from dataclasses import replace

import pytest
import torch

from bnnbench.methods.base import Unsupported
from bnnbench.methods.mile.model import Model, fan_in_stds
from bnnbench.methods.networks.architectures import (
    BatchNorm,
    Dropout,
    Layer,
    Linear,
    MeanAndLogVariance,
    ReLU,
)
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.networks.priors import FixedPrecision
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import classification, images, regression, stream


def test_a_regression_of_unknown_noise_has_a_mean_and_the_square_of_a_softplus():
    given = regression()
    network = Model.of(given).network
    weights = torch.randn(2, network.parameter_count, generator=stream(0))
    inputs = given.train.inputs[None]
    means, variances = network(weights, inputs).chunk(2, -1)
    plain = TorchNetwork((*given.architecture[:-1], Linear(2)), given.input_shape)
    outputs = plain(weights, inputs)
    torch.testing.assert_close(means, outputs[..., :1])
    stds = torch.nn.functional.softplus(outputs[..., 1:]) + 1e-6
    torch.testing.assert_close(variances.sqrt(), stds)


@pytest.mark.parametrize("given", [regression(noise_std=0.3), classification(), images()])
def test_known_noise_and_classes_leave_the_network_as_it_is(given):
    model = Model.of(given)
    assert type(model.network) is TorchNetwork
    assert model.network.architecture == given.architecture
    assert not model.learns_std


def test_the_priors_functions_have_one_size_for_every_width():
    """Var f(x) = 1 + H (4 f² / (D H)) (|x|² f² / D + 1/2) for H ReLU units with biases."""
    inputs = torch.randn(1, 19, generator=stream(0)).double()
    factor, square = 2.0, float(inputs.square().sum())
    for hidden in (20, 200):
        network = mlp([hidden], 1)
        stds = fan_in_stds(network, (19,), factor)
        rng = stream(1)
        weights = torch.randn(1500, len(stds), generator=rng, dtype=torch.float64) * stds
        outputs = TorchNetwork(network, (19,))(weights, inputs[None])
        unit = (2 * factor**2 * square / 19 + 1) / 2
        assert float(outputs.var()) == pytest.approx(1 + 2 * factor**2 * unit, rel=0.2)


def test_the_paper_has_standard_normal_weights():
    assert (fan_in_stds(mlp([3], 1), (2,), None) == 1).all()


def test_biases_have_standard_deviations_of_1():
    stds = fan_in_stds(mlp([3], 1), (2,), 4.0)
    expected = [4.0] * 6 + [1.0] * 3 + [4 * (2 / 3) ** 0.5] * 3 + [1.0]
    torch.testing.assert_close(stds, torch.tensor(expected).double())


def test_a_problems_prior_replaces_the_factor():
    given = replace(regression(), prior=FixedPrecision(4.0))
    stds = Model.of(given).prior_stds(given, 2.0)
    expected = [0.5 / 5**0.5] * 35 + [0.5 / 8**0.5] * 16
    torch.testing.assert_close(stds, torch.tensor(expected))


@pytest.mark.parametrize(
    "architecture",
    [
        (Linear(3), BatchNorm(), ReLU(), Linear(1)),
        (Linear(3), ReLU(), Dropout(0.1), Linear(1)),
        (Linear(2), MeanAndLogVariance()),
        (Linear(1), ReLU()),
    ],
)
def test_networks_without_a_likelihood_or_a_place_for_the_noise_are_refused(
    architecture: tuple[Layer, ...],
):
    with pytest.raises(Unsupported, match="needed"):
        Model.of(regression(architecture=architecture))


def test_a_single_weight_has_no_direction():
    given = regression(noise_std=0.5, architecture=(Linear(1, bias=False),))
    one = replace(given, train=replace(given.train, inputs=given.train.inputs[:, :1]))
    with pytest.raises(Unsupported, match="2 weights"):
        Model.of(one)
