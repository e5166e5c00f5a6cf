"""Normal noise as a layer."""

import pytest
import torch

from bnnbench.methods.networks.architectures import GaussianNoise, Linear, from_json, to_json
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream

WEIGHTS = torch.empty(1, 0)


def test_noise_has_the_stated_variance_and_no_mean():
    zeros = torch.zeros(1, 2000, 50)
    network = TorchNetwork((GaussianNoise(0.09),), (50,))
    out = network(WEIGHTS, zeros, noise="per_example", rngs=[stream(0)])
    # 100,000 values: five standard errors.
    assert float(out.mean()) == pytest.approx(0, abs=5 * 0.3 / 100_000**0.5)
    assert float(out.var()) == pytest.approx(0.09, rel=5 * (2 / 100_000) ** 0.5)


def test_inputs_pass_unchanged_where_noise_is_off_or_nothing():
    inputs = torch.randn(1, 4, 3, generator=stream(0))
    assert torch.equal(TorchNetwork((GaussianNoise(0.1),), (3,))(WEIGHTS, inputs), inputs)
    silent = TorchNetwork((GaussianNoise(0.0),), (3,))
    assert torch.equal(silent(WEIGHTS, inputs, training=True, rngs=[stream(1)]), inputs)


def test_noise_is_drawn_in_training():
    inputs = torch.zeros(1, 4, 3)
    network = TorchNetwork((GaussianNoise(1.0),), (3,))
    assert network(WEIGHTS, inputs, training=True, rngs=[stream(1)]).abs().min() > 0


@pytest.mark.parametrize("variance", [-0.1, float("inf"), float("nan")])
def test_a_variance_is_finite_and_not_negative(variance):
    with pytest.raises(ValueError, match="variance to be finite and not negative"):
        GaussianNoise(variance)


def test_its_description_survives_json():
    network = (GaussianNoise(0.01), Linear(2))
    assert from_json(to_json(network)) == network
