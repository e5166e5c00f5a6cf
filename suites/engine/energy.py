"""How much energy a GPU has used, as its driver counts it."""

import functools
from collections.abc import Callable

import torch

try:
    import pynvml
except ImportError:  # nvidia-ml-py comes with the extra `gpu`
    pynvml = None


def joules(device: torch.device) -> float | None:
    """Return what the device has used since its driver was loaded; None without a counter.

    Whatever runs there counts, of other processes too. GPUs count from Volta on, their parts
    (MIG) and CPUs do not.
    """
    counter = _counter(device)
    if pynvml is None or counter is None:
        return None
    try:
        return counter() / 1000
    except pynvml.NVMLError:
        return None


@functools.cache
def _counter(device: torch.device) -> Callable[[], int] | None:
    """Return what reads the counter of the device, in millijoules."""
    if pynvml is None or device.type != "cuda":
        return None
    identity = f"GPU-{torch.cuda.get_device_properties(device).uuid}"
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(identity)
    except pynvml.NVMLError:
        return None
    return functools.partial(pynvml.nvmlDeviceGetTotalEnergyConsumption, handle)
