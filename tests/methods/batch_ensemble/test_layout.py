"""Weights of members from shared matrices: against the layer's equation and single networks."""

import pytest
import torch

from bnnbench.methods.base import Unsupported
from bnnbench.methods.batch_ensemble.layout import Layout
from bnnbench.methods.networks.architectures import Conv2d, Flatten, Linear, ReLU
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream

MEMBERS = 3
NETWORK = TorchNetwork((Linear(5), ReLU(), Linear(2)), (4,))


def randn(*shape, seed=0):
    return torch.randn(shape, generator=stream(seed), dtype=torch.float64)


def numbers_of(layout, network, problems=2):
    weights = randn(problems, network.parameter_count)
    separate = randn(problems, layout.members, network.parameter_count, seed=1)
    return weights, separate, layout.gathered(weights, separate)


def test_members_without_scales_and_with_equal_biases_are_one_network():
    layout = Layout.of(NETWORK, MEMBERS, separate_last=False)
    weights = randn(2, NETWORK.parameter_count)
    numbers = layout.gathered(weights, weights.unsqueeze(1).repeat(1, MEMBERS, 1))
    ones = torch.ones(2, MEMBERS * sum(layout.scale_sizes), dtype=torch.float64)
    assert torch.equal(layout.weights(numbers, ones), weights.repeat_interleave(MEMBERS, 0))


@pytest.mark.parametrize("separate_last", [False, True])
def test_a_member_computes_the_scaled_layers_of_the_paper(separate_last):
    layout = Layout.of(NETWORK, MEMBERS, separate_last)
    weights, separate, numbers = numbers_of(layout, NETWORK)
    scales = randn(2, MEMBERS * sum(layout.scale_sizes), seed=2)
    x = randn(7, 4, seed=3)
    outputs = NETWORK(layout.weights(numbers, scales), x[None]).unflatten(0, (2, MEMBERS))
    of_members = scales.unflatten(1, (MEMBERS, -1))
    for problem in range(2):
        for k in range(MEMBERS):
            r1, s1, *last = of_members[problem, k].split(layout.scale_sizes)
            own = separate[problem, k]
            hidden = ((x * r1) @ weights[problem, :20].view(5, 4).mT * s1 + own[20:25]).relu()
            if separate_last:
                expected = hidden @ own[25:35].view(2, 5).mT + own[35:]
            else:
                r2, s2 = last
                expected = (hidden * r2) @ weights[problem, 25:35].view(2, 5).mT * s2 + own[35:]
            torch.testing.assert_close(outputs[problem, k], expected)


def test_a_kernel_is_scaled_by_channels():
    network = TorchNetwork((Conv2d(3, kernel=2), Flatten(), Linear(2)), (2, 3, 3))
    layout = Layout.of(network, MEMBERS, separate_last=True)
    weights, _, numbers = numbers_of(layout, network)
    scales = randn(2, MEMBERS * 5, seed=2)
    kernels = layout.weights(numbers, scales)[:, :24].view(2, MEMBERS, 3, 2, 2, 2)
    r, s = scales.view(2, MEMBERS, 5).split([2, 3], 2)
    shared = weights[:, :24].view(2, 3, 2, 2, 2)
    torch.testing.assert_close(kernels, torch.einsum("poixy,pki,pko->pkoixy", shared, r, s))


def test_a_network_without_a_layer_to_share_is_refused():
    with pytest.raises(Unsupported, match="hidden layer"):
        Layout.of(TorchNetwork((Linear(2),), (4,)), MEMBERS, separate_last=True)
