"""The cost of moments relative to numbers in the same network, forward and with gradients."""

from collections.abc import Callable

import pytest
import torch

from bnnbench.datasets.base import Split
from bnnbench.methods.moments.covariances.covariance import Covariances, covariance_rules
from bnnbench.methods.moments.rules import moment_rules
from bnnbench.methods.networks.architectures import LogisticBernoulli
from bnnbench.methods.networks.catalogue import lenet_001
from bnnbench.suites.probes.training_step import Step, seconds_by_turns
from tests.methods.problems import stream

SHAPE = (1, 28, 28)
NOISES = {
    "noise at the inputs": (lenet_001(), 0.01),
    "dropout": (lenet_001(dropout=0.2), 0.0),
    "both": (lenet_001(dropout=0.2), 0.01),
    "binary units": (lenet_001(activation=LogisticBernoulli()), 0.0),
}
BATCH = Split(
    torch.randn(128, *SHAPE, generator=stream(1)), torch.randint(10, (128,), generator=stream(2))
)


@pytest.mark.parametrize("noise", NOISES)
def test_moments_beside_a_deterministic_network(noise, benchmark):
    """The target: 2.2 times forward and backward together."""
    architecture, variance = NOISES[noise]
    plain = Step(lenet_001(), BATCH, stream(0))
    moments = Step(architecture, BATCH, stream(0), moment_rules(), variance)
    benchmark.extra_info |= ratios(plain, moments)
    benchmark.pedantic(moments, rounds=3)


@pytest.mark.parametrize("rank", [4, 16, 64])
def test_covariances_beside_a_deterministic_network(rank, benchmark):
    """Along this many directions per linear layer, of noise at the inputs."""
    architecture, variance = NOISES["noise at the inputs"]
    plain = Step(lenet_001(), BATCH, stream(0))
    joint = Step(architecture, BATCH, stream(0), covariance_rules(Covariances(rank)), variance)
    benchmark.extra_info |= ratios(plain, joint, turns=3)
    benchmark.pedantic(joint, rounds=1)


def ratios(one: Step, other: Step, turns: int = 40) -> dict[str, dict[str, float]]:
    """Return the ratio of times, forward and with the gradient."""
    passes = {"forward": (forward(one), forward(other)), "forward_backward": (one, other)}
    return {name: ratio(*pair, turns) for name, pair in passes.items()}


def forward(step: Step) -> Callable[[], object]:
    """Return the forward pass of a step."""
    return torch.no_grad()(step.log_probs)


def ratio(one: Callable[[], object], other: Callable[[], object], turns: int) -> dict[str, float]:
    """Return the minimum processor times in milliseconds, taken by turns, and their ratio."""
    times = seconds_by_turns((one, other), turns, torch.device("cpu"))
    least = [1e3 * float(own.min()) for own in times]
    return {"plain_ms": least[0], "moments_ms": least[1], "ratio": least[1] / least[0]}
