"""Jacobians from the inputs of layers, compared with automatic differentiation."""

import pytest
import torch

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.base import Unsupported
from bnnbench.methods.laplace.layer_recorder import LayerRecorder
from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    Architecture,
    BatchNorm,
    Conv2d,
    Dropout,
    FeatureResponseNorm,
    Flatten,
    GlobalAvgPool2d,
    LeakyReLU,
    Linear,
    MaxPool2d,
    Residual,
    Swish,
    Tanh,
)
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.laplace.explicit import jacobian, mode_of, normal_inputs

BODY = (Conv2d(3, 3, padding=1), BatchNorm(), Tanh(), Conv2d(4, 3, 2, (0, 1), bias=False))
NETWORKS: dict[str, tuple[Architecture, tuple[int, ...]]] = {
    "linear": ((Linear(2),), (3,)),
    "perceptron": ((Linear(5), Tanh(), Dropout(0.5), Linear(4, bias=False), Linear(2)), (3,)),
    "convolutions": (
        (Conv2d(3, 3, 2, 1), LeakyReLU(0.1), MaxPool2d(2), Flatten(), Linear(2)),
        (2, 8, 8),
    ),
    "mirrored borders": (
        (Conv2d(2, 3, padding=2, padding_mode="symmetric"), Swish(), GlobalAvgPool2d()),
        (1, 5, 5),
    ),
    "branches and norms": (
        (
            *(Residual(BODY, (Conv2d(4, 1, 2),)), FeatureResponseNorm()),
            *(Residual((Conv2d(4, 1),)), GlobalAvgPool2d(), Linear(3)),
        ),
        (2, 6, 6),
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("last_only", [False, True])
def test_its_jacobians_agree_with_automatic_differentiation(name, last_only):
    architecture, shape = NETWORKS[name]
    mode = mode_of(architecture, shape, Gaussian(1.0))
    inputs = normal_inputs(4, *shape)
    try:
        recorder = LayerRecorder(mode.network, last_only)
    except Unsupported:
        assert last_only
        assert name == "mirrored borders"
        return
    outputs = recorder.outputs(mode.weights, mode.buffers, inputs)
    directions = torch.eye(outputs.shape[1], dtype=torch.float64).expand(4, -1, -1)
    found = recorder.flat([e.jacobian() for e in recorder.entries(outputs, directions)])
    places = recorder.indices(inputs.device)
    torch.testing.assert_close(found, jacobian(mode, inputs)[:, :, places], rtol=1e-10, atol=1e-12)


def test_it_covers_all_weights_but_those_of_norms():
    architecture, shape = NETWORKS["branches and norms"]
    network = TorchNetwork(architecture, shape)
    norms = [p for p in network.parameters if isinstance(p.layer, BatchNorm | FeatureResponseNorm)]
    left = {i for part in norms for i in range(part.offset, part.stop)}
    covered = LayerRecorder(network).indices(torch.device("cpu")).tolist()
    assert sorted(covered) == sorted(set(range(network.parameter_count)) - left)
    assert len(covered) == LayerRecorder(network).size


def test_the_last_layer_is_the_end_of_the_weights():
    network = TorchNetwork(*NETWORKS["convolutions"])
    covered = LayerRecorder(network, last_only=True).indices(torch.device("cpu"))
    assert covered.tolist() == list(range(network.parameter_count - 26, network.parameter_count))


@pytest.mark.parametrize(
    ("architecture", "last_only", "needed"),
    [
        ((Linear(3, bias=False), AnalyticNorm(), Linear(2)), False, "AnalyticNorm"),
        ((Linear(3), Tanh()), True, "linear layer"),
    ],
)
def test_other_networks_are_refused_with_a_reason(architecture, last_only, needed):
    with pytest.raises(Unsupported, match=needed):
        LayerRecorder(TorchNetwork(architecture, (3,)), last_only)
