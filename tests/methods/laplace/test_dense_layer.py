"""Blocks of pairs of units, compared with the Jacobian that they replace."""

import pytest
import torch

from bnnbench.datasets.base import Categorical
from bnnbench.methods.laplace.dense_layer import dense_layer_variances, is_one_dense_layer
from bnnbench.methods.laplace.layer_recorder import Entry, LayerRecorder
from bnnbench.methods.networks.architectures import Conv2d, Flatten, Linear, Tanh
from tests.methods.laplace.explicit import mode_of, normal_inputs


@pytest.mark.parametrize("bias", [True, False])
def test_variances_along_any_gradients_agree_with_the_jacobian(bias):
    network = mode_of((Linear(4, bias=bias),), (3,), Categorical(4)).network
    recorder = LayerRecorder(network)
    (block,) = recorder.blocks
    inputs = normal_inputs(6, 1, 3)
    if bias:
        inputs = torch.cat([inputs, torch.ones(6, 1, 1, dtype=inputs.dtype)], -1)
    entry = Entry(inputs, normal_inputs(6, 5, 1, 4) * 3)
    vectors = torch.linalg.qr(normal_inputs(recorder.size, recorder.size)).Q
    variances = torch.linspace(0.1, 2, recorder.size, dtype=torch.float64)
    slopes = recorder.flat([entry.jacobian()])
    expected = torch.einsum("pdi,ij,pdj->pd", slopes, (vectors * variances) @ vectors.mT, slopes)
    rule = dense_layer_variances(block, vectors, variances)
    torch.testing.assert_close(rule([entry]), expected, rtol=1e-12, atol=0)


def test_only_one_dense_layer_alone_is_taken_so():
    network = mode_of((Conv2d(2, 3), Tanh(), Flatten(), Linear(3)), (1, 5, 5), Categorical(3))
    assert is_one_dense_layer(LayerRecorder(network.network, last_only=True))
    assert not is_one_dense_layer(LayerRecorder(network.network))
