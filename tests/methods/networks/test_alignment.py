"""Members and layers whose weights start where a GPU's libraries cannot read 16 bytes at once."""

from dataclasses import replace

import pytest
import torch
from torch import Generator

from bnnbench.methods.fitting.tf32 import without_tf32
from bnnbench.methods.networks import torch_layers
from bnnbench.methods.networks.architectures import (
    BatchNorm,
    Conv2d,
    GlobalAvgPool2d,
    Linear,
    ReLU,
)
from bnnbench.methods.networks.catalogue import resnet18
from bnnbench.methods.networks.modules import rule
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.networks.modules.examples import RESNET

MEMBERS, POINTS = 3, 6
NETWORKS = {
    # Seven channels: everything after the first layer has any alignment.
    "odd": (Conv2d(7, 3, bias=True), BatchNorm(), ReLU(), GlobalAvgPool2d(), Linear(3)),
    "residual": resnet18(width=4, classes=3),
    "module": (replace(RESNET[0], stacked=False),),
}


def _passed(architecture, device):
    """Return outputs, gradients and statistics of a pass in training."""
    network = TorchNetwork(architecture, (2, 16, 16))
    rngs = [Generator().manual_seed(m) for m in range(MEMBERS)]
    weights = network.initial_weights(rngs)
    buffers = network.initial_buffers(weights).to(device)
    inputs = torch.randn(MEMBERS, POINTS, 2, 16, 16, generator=rngs[0]).to(device)
    weights = weights.to(device).requires_grad_()
    outputs = network(weights, inputs, buffers=buffers, training=True)
    (gradient,) = torch.autograd.grad(outputs.square().sum(), weights)
    return outputs.detach().cpu(), gradient.cpu(), buffers.cpu()


@pytest.mark.parametrize("name", NETWORKS)
def test_copies_change_no_bit_and_statistics_arrive(name, monkeypatch):
    expected = _passed(NETWORKS[name], "cpu")
    copies = []

    def copied(tensor):
        copies.append(tensor)
        return tensor.clone()

    for module in (torch_layers, rule):
        monkeypatch.setattr(module, "aligned", copied)
    found = _passed(NETWORKS[name], "cpu")
    assert copies
    for one, other in zip(found, expected, strict=True):
        assert torch.equal(one, other)


@pytest.mark.gpu
@pytest.mark.parametrize("name", NETWORKS)
def test_members_of_any_size_pass_a_gpu(name):
    with without_tf32():
        passed = [_passed(NETWORKS[name], device) for device in ("cuda", "cpu")]
    for one, other in zip(*passed, strict=True):
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-4)
