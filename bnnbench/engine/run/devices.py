"""The device of a fit, chosen in the process that fits: other machines may have other GPUs."""

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

AUTO = "auto"
"""Stands for a GPU if there is one, else for the CPU."""

SHARE = "BNNBENCH_GPU_SHARE"
"""Environment variable: fraction of its GPU that a worker may use if several share it."""

TENSORS = 0.9
"""Fraction of a share for tensors; each process also needs memory for its CUDA context."""


def share() -> float:
    """Return the fraction of its GPU that this process may use; below 1 if workers share it."""
    return float(os.environ.get(SHARE, 1.0))


class NoSuchDevice(RuntimeError):
    """A requested device is not available in this process."""


def gpus_here() -> int:
    """Return the number of CUDA devices that torch can use in this process."""
    import torch  # here, so that --help needs none

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def decided(name: str, count: Callable[[], int] = gpus_here) -> "torch.device":
    """Return the device that a name has in this process; raises `NoSuchDevice`.

    `count` returns the number of GPUs; it is not called if the device is the CPU.
    """
    import torch

    if name == "cpu":
        return torch.device(name)
    gpus = count()
    if name == AUTO:
        return torch.device("cuda" if gpus else "cpu")
    device = torch.device(name)
    if (device.index or 0) >= gpus:
        devices = ", ".join(f"cuda:{number}" for number in range(gpus)) or "no CUDA device"
        cure = "one of these" if gpus else "--device cpu, or a machine and a torch with CUDA"
        raise NoSuchDevice(
            f"--device {name}: torch finds {devices} on {platform.node()}; use {cure}"
        )
    return device


@contextmanager
def used(name: str, count: Callable[[], int] = gpus_here) -> "Iterator[torch.device]":
    """Choose the device, and make it torch's current one within the block.

    If workers share a GPU, a fit that needs more than its share of the memory fails without
    affecting the others.
    """
    import torch

    device = decided(name, count)
    if device.type != "cuda":
        yield device
        return
    with torch.cuda.device(device):
        if (part := share()) < 1:
            torch.cuda.set_per_process_memory_fraction(part * TENSORS)
        yield device
