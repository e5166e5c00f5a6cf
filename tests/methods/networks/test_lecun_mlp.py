"""The perceptron whose weights start with variances of 1/fan-in."""

import pytest
import torch
from torch import nn

from bnnbench.methods.networks.catalogue import lecun_mlp_003, mlp_003
from bnnbench.methods.networks.lecun_mlp import lecun_mlp
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream


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
