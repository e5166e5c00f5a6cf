"""Memory used by a block of code."""

import ctypes
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import torch

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1
"""Parameters of the C library's mallopt."""

LARGEST_KEPT, MOST_KEPT = 2**28, 2**30
"""Bytes of one buffer, and of all free buffers, that a process keeps for reuse."""


def keep_freed() -> None:
    """Make the C library keep freed memory for the next buffer, if it supports that.

    By default, large buffers are returned to the system, which clears every page of the next one.
    That costs a tenth of a training step, and more if steps have many buffers.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(MMAP_THRESHOLD, LARGEST_KEPT)
        mallopt(TRIM_THRESHOLD, MOST_KEPT)


@contextmanager
def growth(device: torch.device) -> Iterator[SimpleNamespace]:
    """Measure the rise of peak memory above its level at the block's start, in `.bytes`.

    `.so_far()` returns the rise within the block.

    On a GPU this is the allocator's peak. On Linux it is the resident set's, after memory freed by
    earlier blocks was returned and the high-water mark was reset. Other systems have only the
    lifetime peak, so that the rise is 0 unless the block exceeds it.
    """
    grown = SimpleNamespace(bytes=0.0, so_far=lambda: 0.0)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        start = torch.cuda.memory_allocated(device)
        grown.so_far = lambda: float(torch.cuda.max_memory_allocated(device) - start)
        yield grown
        grown.bytes = grown.so_far()
        return
    _give_back_freed_memory()
    reset = reset_high_water_mark()
    start = _status("VmRSS") if reset else _lifetime_peak()
    peak = partial(_status, "VmHWM") if reset else _lifetime_peak
    grown.so_far = lambda: max(0.0, peak() - start)
    yield grown
    grown.bytes = grown.so_far()


def _give_back_freed_memory() -> None:
    """Return freed memory to the system if possible; otherwise its reuse is not measured."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def reset_high_water_mark(process: int | str = "self") -> bool:
    """Reset a process's peak of resident memory; return whether the system supports that."""
    try:
        Path(f"/proc/{process}/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def high_water_mark(process: int | str) -> float:
    """Return the peak bytes of a process's resident memory since its reset; 0 if it ended."""
    try:
        return _status("VmHWM", process)
    except OSError:
        return 0.0


def in_words(size: float) -> str:
    """Return a number of bytes in the largest unit that leaves 1 or more."""
    for unit, name in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size / 2**10:.3g} KiB"


def _status(field: str, process: int | str = "self") -> float:
    """Return the bytes of a line of /proc/<process>/status."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return float(line.split()[1]) * 1024
    raise OSError(f"/proc/{process}/status has no {field}")


def _lifetime_peak() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit
