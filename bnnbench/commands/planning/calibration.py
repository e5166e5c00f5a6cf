"""Speed of this machine relative to the machine of the finished runs."""

import time

ROUNDS = 20
"""Training steps per measurement."""

REFERENCE_SECONDS = 88e-6
"""Processor seconds of a step on the machine whose costs are in `shipped_costs.csv`."""


def step_seconds(seconds: float = 1.0) -> float:
    """Return the minimum processor seconds of a training step of a small network.

    Measures for about this many seconds on one thread. Other load on the machine slows down some
    measurements and speeds up none.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    rng = torch.Generator().manual_seed(0)
    inputs = torch.randn(32, 20, generator=rng)
    first = torch.randn(20, 50, generator=rng).requires_grad_()
    second = torch.randn(50, 1, generator=rng).requires_grad_()
    least, end = float("inf"), time.perf_counter() + seconds
    try:
        while True:
            begin = time.process_time()
            for _ in range(ROUNDS):
                loss = ((inputs @ first).relu() @ second).square().mean()
                torch.autograd.grad(loss, (first, second))
            least = min(least, (time.process_time() - begin) / ROUNDS)
            if time.perf_counter() >= end:
                return least
    finally:
        torch.set_num_threads(threads)


def slowness() -> float:
    """Return the time on this machine relative to the machine of the finished runs."""
    return step_seconds() / REFERENCE_SECONDS
