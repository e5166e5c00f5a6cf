"""The time that a block takes on its device, and its energy."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from bnnbench.suites.engine.run.energy import joules


@dataclass
class Watch:
    """The time and energy of a block, once it has ended."""

    seconds: float = 0.0
    joules: float | None = None
    """Joules of the GPU; None without a counter."""


@contextmanager
def stopwatch(device: torch.device) -> Iterator[Watch]:
    """Measure the block's seconds and joules, waiting for the device at both ends."""
    watch = Watch()
    _synchronise(device)
    before, start = joules(device), time.perf_counter()
    try:
        yield watch
    finally:
        _synchronise(device)
        watch.seconds = time.perf_counter() - start
        after = joules(device)
        if before is not None and after is not None:
            watch.joules = after - before


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
