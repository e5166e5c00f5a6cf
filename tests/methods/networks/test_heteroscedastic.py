"""Networks with mean and variance, compared with plain ones and torch's distributions."""

import pytest
import torch
from torch.distributions import Normal
from torch.nn import functional

from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.training import Stack
from bnnbench.methods.networks.architectures import Linear, ReLU
from bnnbench.methods.networks.heteroscedastic import (
    HeteroscedasticNetwork,
    gaussian_losses,
    softplus,
)
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.predictions.predictive import GaussianPredictive
from tests.methods.problems import regression, stream, streams

NETWORK = HeteroscedasticNetwork((Linear(6), ReLU(), Linear(2)), (4,))


def test_softplus_and_its_slope_agree_with_torch_and_one_half_at_zero():
    x = torch.cat([torch.linspace(-700, 700, 1401), torch.linspace(-3, 3, 99)]).double()
    x.requires_grad_()
    torch.testing.assert_close(
        softplus(x), functional.softplus(x, threshold=1000), rtol=1e-14, atol=0
    )
    (slope,) = torch.autograd.grad(softplus(x).sum(), x)
    torch.testing.assert_close(slope, x.sigmoid(), rtol=1e-13, atol=0)
    assert float(slope[x == 0][0]) == 0.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_softplus_rounds_alike_wherever_an_element_lies(dtype):
    x = 5 * torch.randn(100, generator=stream(0), dtype=dtype)
    whole = softplus(x)
    for start in range(30):
        for size in (1, 2, 3, 5, 17):
            part = slice(start, start + size)
            assert torch.equal(softplus(x[part].clone()), whole[part])


def test_outputs_are_means_and_then_variances():
    weights = NETWORK.initial_weights(streams(0, 1), dtype=torch.float64)
    weights[:, -1] = torch.tensor([0.7, -0.4])
    inputs = torch.randn(1, 9, 4, generator=stream(2), dtype=torch.float64)
    plain = TorchNetwork((Linear(6), ReLU(), Linear(4)), (4,))
    raw = plain(weights[:, :-1], inputs)
    shared = functional.softplus(weights[:, -1])[:, None, None]
    expected = torch.cat([raw[..., :2], functional.softplus(raw[..., 2:]) + shared], -1)
    torch.testing.assert_close(NETWORK(weights, inputs), expected, rtol=1e-12, atol=0)


def test_the_shared_number_starts_at_zero_and_the_others_as_those_of_a_plain_network():
    weights = NETWORK.initial_weights(streams(0))
    plain = TorchNetwork((Linear(6), ReLU(), Linear(4)), (4,)).initial_weights(streams(0))
    assert torch.equal(weights[:, :-1], plain)
    assert float(weights[0, -1]) == 0


def test_losses_agree_with_a_normal_distribution():
    rng = stream(0)
    means, targets = torch.randn(2, 3, 5, 2, generator=rng, dtype=torch.float64)
    variances = torch.rand(3, 5, 2, generator=rng, dtype=torch.float64)
    expected = -Normal(means, variances.sqrt()).log_prob(targets).sum(-1)
    found = gaussian_losses(torch.cat([means, variances], -1), targets)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_a_posterior_predicts_with_the_variances_of_its_network():
    stack = Stack([regression()], streams(0), 8, heteroscedastic=True)
    posterior = stack.posterior(0)
    assert isinstance(posterior, NetworkPosterior)
    inputs = regression().train.inputs
    prediction = posterior.predict(inputs, stream(0))
    assert isinstance(prediction, GaussianPredictive)
    outputs = stack.network(stack.weights, inputs[None])
    assert torch.equal(prediction.means, outputs[..., :1])
    assert torch.equal(prediction.variances, outputs[..., 1:])
    assert len(prediction.variances.unique()) == len(inputs)
