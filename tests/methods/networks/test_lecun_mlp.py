"""The perceptron that starts with variances of 1/fan-in."""

import pytest
import torch
from torch import nn

from bnnbench.methods.networks.lecun_mlp import lecun_mlp


def test_weights_start_with_a_variance_of_one_over_the_inputs_and_biases_at_zero():
    torch.manual_seed(0)
    dense = [layer for layer in lecun_mlp((784, 300, 200, 10)) if isinstance(layer, nn.Linear)]
    for layer in dense:
        count = layer.weight.numel()
        expected = 1 / layer.in_features
        error = expected * (2 / count) ** 0.5
        assert float(layer.weight.detach().var()) == pytest.approx(expected, abs=4 * error)
        assert not layer.bias.any()


def test_outputs_keep_the_scale_of_the_inputs_but_for_what_rectifiers_halve():
    torch.manual_seed(1)
    with torch.no_grad():
        outputs = lecun_mlp((784, 1000, 1000))(torch.randn(500, 1, 28, 28))
    assert float(outputs.square().mean()) == pytest.approx(0.5, rel=0.1)
