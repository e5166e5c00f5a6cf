"""How much memory a block of code needs."""

import ctypes
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import torch

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1
"""Parameters of the C library's mallopt."""

LARGEST_KEPT, MOST_KEPT = 2**28, 2**30
"""Bytes of one buffer, and of what is free in all, that a process keeps when they are freed."""


def keep_freed() -> None:
    """Have the C library keep what is freed for the next buffer, where it can be told to.

    By default large buffers go back to the system, which clears every page of the next one: a
    tenth of a training step, and more where steps have many buffers.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(MMAP_THRESHOLD, LARGEST_KEPT)
        mallopt(TRIM_THRESHOLD, MOST_KEPT)


@contextmanager
def growth(device: torch.device) -> Iterator[SimpleNamespace]:
    """Measure in `.bytes` how far peak memory rose above its level at the block's start.

    On a GPU this is the allocator's peak; on Linux the resident set's, after what earlier
    blocks freed was given back and the high-water mark was reset; elsewhere the lifetime peak,
    so that only a new record shows.
    """
    grown = SimpleNamespace(bytes=0.0)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        start = torch.cuda.memory_allocated(device)
        yield grown
        grown.bytes = float(torch.cuda.max_memory_allocated(device) - start)
        return
    _give_back_freed_memory()
    reset = _reset_high_water_mark()
    start = _status("VmRSS") if reset else _lifetime_peak()
    yield grown
    end = _status("VmHWM") if reset else _lifetime_peak()
    grown.bytes = max(0.0, end - start)


def _give_back_freed_memory() -> None:
    """Return freed memory to the system, where the C library can; else a block reuses it unseen."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _reset_high_water_mark() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _status(field: str) -> float:
    """Return a size of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return float(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")


def _lifetime_peak() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit
