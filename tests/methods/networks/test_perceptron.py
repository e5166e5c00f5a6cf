"""Architectures read as perceptrons."""

import pytest
import torch
from torch import nn

from bnnbench.methods.base import Unsupported
from bnnbench.methods.networks.architectures import (
    Conv2d,
    Dropout,
    Flatten,
    LeakyReLU,
    Linear,
    ReLU,
    Tanh,
)
from bnnbench.methods.networks.catalogue import cnn_000, lecun_mlp_003, mlp, mlp_003
from bnnbench.methods.networks.lecun_mlp import lecun_mlp
from bnnbench.methods.networks.perceptron import Perceptron, as_perceptron
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream


def test_widths_run_from_the_features_to_the_outputs():
    assert as_perceptron(mlp([50, 20], 3), (13,), ReLU) == Perceptron((13, 50, 20, 3), ReLU())
    tanh = mlp([10], 1, Tanh())
    assert as_perceptron(tanh, (4,), ReLU, Tanh) == Perceptron((4, 10, 1), Tanh())


def test_a_linear_model_has_no_activation():
    assert as_perceptron(mlp([], 1), (13,), ReLU) == Perceptron((13, 1), None)


def test_an_image_is_flattened_first():
    architecture = (Flatten(), *mlp([9], 2))
    assert as_perceptron(architecture, (3, 4, 5), ReLU).widths == (60, 9, 2)


@pytest.mark.parametrize(
    ("architecture", "shape"),
    [
        (cnn_000(), (3, 32, 32)),
        (mlp([5], 1), (3, 4, 4)),
        (mlp([5], 1, Tanh()), (3,)),
        (mlp([5], 1, dropout=0.1), (3,)),
        ((Linear(5, bias=False), ReLU(), Linear(1)), (3,)),
        ((Linear(5), ReLU(), ReLU(), Linear(1)), (3,)),
        ((Linear(5), ReLU()), (3,)),
        ((Linear(5), Linear(1)), (3,)),
        ((), (3,)),
        ((Conv2d(3, 3), Flatten(), Linear(1)), (3, 8, 8)),
        ((Dropout(0.1), Linear(1)), (3,)),
    ],
    ids=lambda value: "",
)
def test_anything_else_is_refused_with_what_was_needed(architecture, shape):
    with pytest.raises(Unsupported, match="needed a perceptron, dense layers with biases and ReLU"):
        as_perceptron(architecture, shape, ReLU)


def test_activations_must_be_equal_throughout():
    mixed = (Linear(5), LeakyReLU(0.1), Linear(5), LeakyReLU(0.2), Linear(1))
    with pytest.raises(Unsupported):
        as_perceptron(mixed, (3,), LeakyReLU)


def test_weights_start_with_a_variance_of_one_over_the_inputs_and_biases_at_zero():
    torch.manual_seed(0)
    dense = [layer for layer in lecun_mlp((784, 300, 200, 10)) if isinstance(layer, nn.Linear)]
    for layer in dense:
        count = layer.weight.numel()
        expected = 1 / layer.in_features
        error = expected * (2 / count) ** 0.5
        assert float(layer.weight.detach().var()) == pytest.approx(expected, abs=4 * error)
        assert not layer.bias.any()


def test_the_networks_of_paper_003_differ_in_nothing_but_their_start():
    plain, other = (TorchNetwork(of(), (1, 28, 28)) for of in (mlp_003, lecun_mlp_003))
    weights = plain.initial_weights([stream(0)])
    inputs = torch.randn(1, 3, 1, 28, 28, generator=stream(1))
    assert other.parameter_count == plain.parameter_count
    torch.testing.assert_close(other(weights, inputs), plain(weights, inputs))
    assert not torch.equal(other.initial_weights([stream(0)]), weights)


def test_outputs_keep_the_scale_of_the_inputs_but_for_what_rectifiers_halve():
    torch.manual_seed(1)
    with torch.no_grad():
        outputs = lecun_mlp((784, 1000, 1000))(torch.randn(500, 1, 28, 28))
    assert float(outputs.square().mean()) == pytest.approx(0.5, rel=0.1)
