"""Energy used by a GPU, from its driver's counter."""

import functools
from collections.abc import Callable

import torch

from bnnbench.engine.run.devices import share


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
