"""Weight gradients of strided 1 x 1 convolutions, which oneDNN computes wrongly without AVX-512.

Wrong gradients come with damaged memory, so each instruction set has a separate process. They are
compared with the same gradient in float64, by a library kernel that is not affected.
"""

import os
import subprocess
import sys
import warnings

import pytest
import torch
from torch import nn

from bnnbench.methods.message_passing.maps.convolution import Convolution
from bnnbench.methods.networks.architectures import Conv2d, Flatten, Linear, TorchModule
from bnnbench.methods.networks.catalogue import resnet18
from bnnbench.methods.networks.modules.trials import trial_of
from bnnbench.methods.networks.torch_network import TorchNetwork

NETWORKS = {
    "pointwise": ((Conv2d(8, 1, stride=2), Flatten(), Linear(3)), (4, 8, 8)),
    "padded": ((Conv2d(8, 1, stride=2, padding=(0, 1)), Flatten(), Linear(3)), (3, 8, 9)),
    "residual": (resnet18(width=2, classes=3), (2, 16, 16)),
    "behind a layer of ours": (
        (
            Conv2d(4, 3),
            TorchModule(
                f"{__name__}:Pointwise", outputs=3, arguments={"channels": 4, "last": False}
            ),
        ),
        (2, 10, 10),
    ),
}
REPETITIONS = 5
"""Damage to a heap is noticed when it is used again."""


class Pointwise(nn.Module):
    """A strided 1 x 1 kernel, with inputs channels last or unchanged."""

    def __init__(self, channels: int, last: bool) -> None:
        super().__init__()
        self.last = last
        self.pixels = nn.Conv2d(channels, 8, 1, stride=2)
        self.head = nn.LazyLinear(3)
        self.head(torch.zeros(1, 8 * 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous(memory_format=torch.channels_last) if self.last else x
        return self.head(self.pixels(x).flatten(1))


def gradient(network, weights, inputs):
    weights = weights.clone().requires_grad_()
    outputs = network(
        weights, inputs, buffers=network.initial_buffers(weights.detach()), training=True
    )
    return torch.autograd.grad(outputs.square().sum(), weights)[0]


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_in_single_precision_are_those_in_double(name):
    architecture, shape = NETWORKS[name]
    network = TorchNetwork(architecture, shape)
    rng = torch.Generator().manual_seed(0)
    for _ in range(REPETITIONS):
        weights = network.initial_weights([rng, rng])
        inputs = torch.randn(2, 16, *shape, generator=rng)
        truth = gradient(network, weights.double(), inputs.double())
        found = gradient(network, weights, inputs).double()
        assert (found - truth).norm() < 1e-4 * truth.norm()


@pytest.mark.parametrize("padding", [0, 1, (1, 0)])
def test_message_passing_sums_in_single_precision_are_those_in_double(padding):
    map = Convolution(Conv2d(8, 1, stride=2, padding=padding), (4, 8, 8))
    rng = torch.Generator().manual_seed(0)
    for _ in range(REPETITIONS):
        x = torch.randn(1, 16, 4, 8, 8, generator=rng)
        z = torch.randn(1, 16, *map.output_shape, generator=rng)
        truth = map.to_weights(z.double(), x.double())
        assert (map.to_weights(z, x).double() - truth).norm() < 1e-5 * truth.norm()


@pytest.mark.parametrize("instructions", ["AVX2", pytest.param("SSE41", marks=pytest.mark.long)])
def test_the_same_holds_with_fewer_vector_instructions(instructions):
    tests = [f"{__file__}::{name}" for name in globals() if "in_single_precision" in name]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": instructions}
    done = subprocess.run([*command, *tests], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert f"{len(NETWORKS) + 3} passed" in done.stdout


def test_modules_with_such_a_layer_are_warned_of():
    def module(channels, last):
        arguments = {"channels": channels, "last": last}
        return TorchModule(f"{__name__}:Pointwise", outputs=3, arguments=arguments)

    with pytest.warns(UserWarning, match=r"Pointwise, pixels, .* without AVX-512"):
        trial_of(module(4, True), (4, 8, 8))
    with warnings.catch_warnings(record=True) as caught:
        trial_of(module(4, False), (4, 8, 8))
        trial_of(module(8, True), (8, 8, 8))
    assert not caught
