"""The GPUs of this machine, divided among workers."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bnnbench.engine.run.devices import SHARE

VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True)
class Gpu:
    """The only GPU visible to a worker's processes, and the worker's share of it."""

    name: str
    """Its number or identifier in `CUDA_VISIBLE_DEVICES`."""
    share: float = 1.0

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables of the worker's processes."""
        return {VISIBLE: self.name, SHARE: f"{self.share:.6f}"}


def gpus_for(device: str, count: Callable[[], int]) -> tuple[int, ...]:
    """Return the numbers of the GPUs that a device's name stands for on this machine.

    "cuda:1" stands for one, "auto" and "cuda" for all, "cpu" for none, without counting them.
    """
    if device == "cpu":
        return ()
    _, named, number = device.partition(":")
    return (int(number),) if named else tuple(range(count()))


def gpu_of(worker: int, workers: int, devices: Sequence[int]) -> Gpu | None:
    """Return the GPU of a worker by its number, round-robin. None without devices.

    Devices are numbered among those visible to this process.
    """
    if not devices:
        return None
    turn = worker % len(devices)
    sharing = len(range(turn, workers, len(devices)))
    visible = os.environ.get(VISIBLE)
    names = visible.split(",") if visible else []
    device = devices[turn]
    return Gpu(names[device].strip() if names else str(device), 1 / sharing)
