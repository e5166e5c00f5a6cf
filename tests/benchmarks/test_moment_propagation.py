"""The cost of moments of activations relative to activations, forward and with gradients."""

import time
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.units.binary import logistic_bernoulli
from bnnbench.methods.moments.units.maximum import max_pool
from bnnbench.methods.moments.units.rectified import leaky_relu
from tests.methods.problems import stream

SHAPE = (1, 128, 32, 12, 12)
"""The largest activation of the LeNet of seed paper 001, in a batch of 128."""
REPEATS = 20

Activation = Callable[[Moments], Moments]
PLAIN: dict[str, Callable[[Tensor], Tensor]] = {
    "leaky": lambda x: F.leaky_relu(x, 0.01),
    "sigmoid": torch.sigmoid,
    "pool": lambda x: F.max_pool2d(x.flatten(0, 1), 2).unflatten(0, x.shape[:2]),
}
MOMENTS: dict[str, tuple[str, Activation]] = {
    "leaky": ("leaky", lambda x: leaky_relu(x, 0.01)),
    "leaky, paper": ("leaky", lambda x: leaky_relu(x, 0.01, "paper")),
    "leaky, in torch": ("leaky", lambda x: leaky_relu(x, 0.01, backend="reference")),
    "binary": ("sigmoid", logistic_bernoulli),
    "pool": ("pool", lambda x: max_pool(x, 2)),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_moments_beside_the_activation(name, benchmark):
    """A leaky ReLU of moments reads and writes twice as much as the activation."""
    same, activation = MOMENTS[name]
    plain, (mean, spread) = PLAIN[same], (images(seed) for seed in (0, 1))
    variance = (0.1 + spread.detach() ** 2).requires_grad_()

    def moments() -> tuple[Tensor, ...]:
        out = activation(Moments(mean, variance))
        assert out.variance is not None
        return out.mean, out.variance

    numbers = {"moments": (moments, (mean, variance)), "plain": (lambda: (plain(mean),), (mean,))}
    for kind, (work, given) in numbers.items():
        to = [torch.randn_like(t) for t in work()]
        both = gradients(work, given, to)
        with torch.no_grad():
            forward = seconds(work)
        benchmark.extra_info |= {
            f"microseconds_{kind}_forward": 1e6 * forward,
            f"microseconds_{kind}_forward_backward": 1e6 * seconds(both),
        }
        if kind == "moments":
            benchmark.pedantic(both, rounds=3)


def gradients(
    work: Callable[[], tuple[Tensor, ...]], given: tuple[Tensor, ...], to: list[Tensor]
) -> Callable[[], object]:
    """Return the work with its backward pass."""
    return lambda: torch.autograd.grad(work(), given, to)


def images(seed: int) -> Tensor:
    """Return an activation with means of all kinds, channels last as convolutions return it."""
    drawn = torch.randn(SHAPE[1:], generator=stream(seed)) * 3
    return drawn.contiguous(memory_format=torch.channels_last)[None].requires_grad_()


def seconds(work: Callable[[], object]) -> float:
    """Return the minimum processor time of some runs."""
    times = []
    for _ in range(REPEATS):
        start = time.thread_time()
        work()
        times.append(time.thread_time() - start)
    return min(times)
