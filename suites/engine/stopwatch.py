"""How long a block takes on its device."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch


@dataclass
class Watch:
    """The seconds of a block, once it has ended."""

    seconds: float = 0.0


@contextmanager
def stopwatch(device: torch.device) -> Iterator[Watch]:
    """Measure the block's seconds, waiting for the device at both ends."""
    watch = Watch()
    _synchronise(device)
    start = time.perf_counter()
    try:
        yield watch
    finally:
        _synchronise(device)
        watch.seconds = time.perf_counter() - start


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
