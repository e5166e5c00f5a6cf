"""The cost of moments relative to numbers in the same network, forward and with gradients."""

import time
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from bnnbench.methods.moments.covariances.covariance import Covariances, covariance_rules
from bnnbench.methods.moments.rules import moment_rules, with_variance
from bnnbench.methods.moments.units.softmax import log_probabilities
from bnnbench.methods.networks.architectures import Architecture, LogisticBernoulli
from bnnbench.methods.networks.catalogue import lenet_001
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream

BATCH = 128
SHAPE = (1, 28, 28)
NOISES = {
    "noise at the inputs": (lenet_001(), 0.01),
    "dropout": (lenet_001(dropout=0.2), 0.0),
    "both": (lenet_001(dropout=0.2), 0.01),
    "binary units": (lenet_001(activation=LogisticBernoulli()), 0.0),
}


class Work:
    """One forward pass of a batch, and one with the gradient of the loss."""

    def __init__(self, architecture: Architecture, inputs: Callable[[Tensor], object], rules=None):
        self.network = TorchNetwork(architecture, SHAPE, rules)
        self.weights = self.network.initial_weights([stream(0)]).requires_grad_()
        self.inputs = inputs(torch.randn(1, BATCH, *SHAPE, generator=stream(1)))
        self.targets = torch.randint(10, (1, BATCH, 1), generator=stream(2))

    def outputs(self) -> Tensor:
        y = self.network(self.weights, self.inputs)
        return y.log_softmax(-1) if isinstance(y, Tensor) else log_probabilities(y)

    def forward(self) -> None:
        with torch.no_grad():
            self.outputs()

    def both(self) -> None:
        loss = -self.outputs().gather(2, self.targets).mean()
        torch.autograd.grad(loss, self.weights)


@pytest.mark.parametrize("noise", NOISES)
def test_moments_beside_a_deterministic_network(noise, benchmark):
    """The target: 2.2 times forward and backward together."""
    architecture, variance = NOISES[noise]
    plain = Work(lenet_001(), lambda x: x)
    moments = Work(architecture, lambda x: with_variance(x, variance), moment_rules())
    jobs = {
        "forward": (plain.forward, moments.forward),
        "forward_backward": (plain.both, moments.both),
    }
    benchmark.extra_info |= {name: ratio(*pair) for name, pair in jobs.items()}
    benchmark.pedantic(moments.both, rounds=3)


@pytest.mark.parametrize("rank", [4, 16, 64])
def test_covariances_beside_a_deterministic_network(rank, benchmark):
    """Along this many directions per linear layer, of noise at the inputs."""
    architecture, variance = NOISES["noise at the inputs"]
    plain = Work(lenet_001(), lambda x: x)
    rules = covariance_rules(Covariances(rank))
    joint = Work(architecture, lambda x: with_variance(x, variance), rules)
    benchmark.extra_info |= {
        "forward": ratio(plain.forward, joint.forward, 3),
        "forward_backward": ratio(plain.both, joint.both, 3),
    }
    benchmark.pedantic(joint.both, rounds=1)


def ratio(
    one: Callable[[], None], other: Callable[[], None], repeats: int = 40
) -> dict[str, float]:
    """Return the minimum processor times in milliseconds, taken by turns, and their ratio."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats + 1):
        for work, own in zip((one, other), times, strict=True):
            start = time.thread_time()
            work()
            own.append(1e3 * (time.thread_time() - start))
    least = [min(own) for own in times]
    return {"plain_ms": least[0], "moments_ms": least[1], "ratio": least[1] / least[0]}
