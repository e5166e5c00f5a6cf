"""Wall time, processor time and energy of a block of code."""

import functools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import psutil
import torch

from bnnbench.engine.run.devices import share
from bnnbench.engine.run.states import PredictCost
from bnnbench.methods.fitting import children

Result = TypeVar("Result")

LEAST_SECONDS = 0.2
"""The load during shorter blocks is unknown: systems count in hundredths of a second."""


@dataclass
class Watch:
    """The time and energy of a block, once it has ended."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Processor seconds of this process and its children."""
    joules: float | None = None
    """Joules of the GPU; None without a counter."""
    busy_elsewhere: float | None = None
    """Share of the machine's processor time that others took; None if unknown."""


@contextmanager
def stopwatch(device: torch.device) -> Iterator[Watch]:
    """Measure the block's seconds, load and joules, waiting for the device at both ends."""
    watch = Watch()
    _synchronise(device)
    before, start, cpu, machine = joules(device), time.perf_counter(), _cpu(), _machine()
    try:
        yield watch
    finally:
        _synchronise(device)
        watch.seconds = time.perf_counter() - start
        watch.cpu_seconds = _cpu() - cpu
        watch.busy_elsewhere = _share(machine, _machine(), watch)
        after = joules(device)
        if before is not None and after is not None:
            watch.joules = after - before


def timed(
    call: Callable[..., Result], device: torch.device
) -> Callable[..., tuple[Result, PredictCost]]:
    """Return a function that returns the result of each call together with its cost."""

    def measured(*arguments: object) -> tuple[Result, PredictCost]:
        with stopwatch(device) as watch:
            result = call(*arguments)
        return result, PredictCost(watch.seconds, watch.cpu_seconds)

    return measured


def _cpu() -> float:
    """Return the processor seconds of this process and its children.

    Of the living children, only those that methods registered are included.
    """
    times = os.times()
    ended = times.children_user + times.children_system
    return time.process_time() + ended + children.cpu_seconds()


def _machine() -> tuple[float, float]:
    """Return the machine's busy and total processor seconds since it started."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    inside = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)  # in user, nice too
    total = sum(times) - inside
    return total - idle, total


def _share(start: tuple[float, float], end: tuple[float, float], watch: Watch) -> float | None:
    total = end[1] - start[1]
    if watch.seconds < LEAST_SECONDS or total <= 0:
        return None
    return min(max(0.0, (end[0] - start[0] - watch.cpu_seconds) / total), 1.0)


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def joules(device: torch.device) -> float | None:
    """Return the joules used by the device since its driver was loaded; None without a counter.

    Other processes' energy is included, so that the energy is unknown if workers share a GPU. GPUs
    have a counter from Volta on; MIG slices and CPUs have none.
    """
    return _counter(device)() if device.type == "cuda" and share() == 1 else None


@functools.cache
def _counter(device: torch.device) -> Callable[[], float | None]:
    """Return a function that reads the counter of a GPU."""
    try:
        import pynvml  # nvidia-ml-py comes with the extra `gpu`
    except ImportError:
        return lambda: None
    identity = f"GPU-{torch.cuda.get_device_properties(device).uuid}"
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(identity)
    except pynvml.NVMLError:
        return lambda: None

    def read() -> float | None:
        try:
            return pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000
        except pynvml.NVMLError:
            return None

    return read
