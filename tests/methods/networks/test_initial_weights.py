"""Initial weights, compared with the distributions that their names denote."""

import math

import pytest
import torch

from bnnbench.methods.networks.architectures import (
    BatchNorm,
    Conv2d,
    FeatureResponseNorm,
    Linear,
)
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.networks.networks import SMALL_NETWORKS, streams


class TestInitialisation:
    @pytest.mark.parametrize(
        ("architecture", "shape", "rule", "std", "largest"),
        [
            ((Linear(512),), (1600,), "torch", 0.014434, 0.025),
            ((Linear(512),), (1600,), "he_fan_out", 0.014434, 0.025),
            ((Conv2d(512, 3),), (512, 3, 3), "he_fan_out", 0.020833, 0.2),
            ((Conv2d(512, 3),), (64, 3, 3), "torch", 0.024056, 1 / 24),
            ((Conv2d(512, 3),), (64, 3, 3), "he_truncated", 0.058926, 0.133979),
            ((Linear(512),), (576,), "he_truncated", 0.058926, 0.133979),
        ],
    )
    def test_weights_follow_the_stated_law(self, architecture, shape, rule, std, largest):
        network = TorchNetwork(architecture, shape)
        weight, bias = network.initial_weights(streams(1), rule)[0].split(
            [part.size for part in network.parameters]
        )
        assert float(weight.std()) == pytest.approx(std, rel=0.01)
        assert abs(float(weight.mean())) < 5 * std / len(weight) ** 0.5
        assert float(weight.abs().max()) <= largest
        if rule == "torch" or (rule == "he_fan_out" and len(shape) == 1):
            assert float(bias.std()) == pytest.approx(std, rel=0.15)
            assert float(bias.abs().max()) <= largest
        else:
            assert not bias.any()

    @pytest.mark.parametrize(
        ("layer", "shape", "bound", "bias_bound"),
        [
            (Linear(512), (1600,), math.sqrt(6 / (1600 + 512)), 1 / 40),
            (Conv2d(512, 3), (64, 3, 3), math.sqrt(6 / (64 * 9 + 512 * 9)), 1 / 24),
        ],
    )
    def test_xavier_weights_are_uniform_by_both_fans_and_biases_as_in_torch(
        self, layer, shape, bound, bias_bound
    ):
        network = TorchNetwork((layer,), shape)
        weight, bias = network.initial_weights(streams(1), "xavier")[0].split(
            [part.size for part in network.parameters]
        )
        for values, reach, within in ((weight, bound, 0.01), (bias, bias_bound, 0.15)):
            assert float(values.std()) == pytest.approx(reach / math.sqrt(3), rel=within)
            assert 0.98 * reach < float(values.abs().max()) <= reach

    def test_a_member_does_not_depend_on_the_others(self):
        network = TorchNetwork(*SMALL_NETWORKS["residual"])
        for rule in ("torch", "xavier", "he_fan_out", "he_truncated"):
            together = network.initial_weights(streams(3), rule)
            alone = network.initial_weights(streams(3)[1:2], rule)
            assert torch.equal(together[1:2], alone)
            assert not torch.equal(together[0], together[1])

    def test_norms_start_as_the_identity(self):
        network = TorchNetwork((FeatureResponseNorm(), BatchNorm()), (2, 3, 3))
        for rule in ("torch", "xavier", "he_fan_out", "he_truncated"):
            start = network.initial_weights(streams(1), rule)
            assert start.tolist() == [[1, 1, 0, 0, 0, 0, 1, 1, 0, 0]]
        assert network.initial_buffers(start).tolist() == [[0, 0, 1, 1]]
