"""Read-only copies of data, for methods that run in an isolated process."""

import ctypes
import mmap
import weakref
from dataclasses import replace

import torch
from torch import Tensor

from bnnbench.datasets.base import Split
from bnnbench.engine.run.guards import write_faults

PROT_READ = 1


def read_only(tensor: Tensor) -> Tensor:
    """Return a copy in read-only memory; writing to it kills the process.

    Views of it, in NumPy or in torch, cannot write either. Empty tensors and GPU tensors are
    returned unchanged.
    """
    if not tensor.numel() or tensor.device.type != "cpu":
        return tensor
    memory = mmap.mmap(-1, tensor.nbytes)
    copy = torch.frombuffer(memory, dtype=tensor.dtype).reshape(tensor.shape)
    copy.copy_(tensor)
    start, size = ctypes.c_void_p(copy.data_ptr()), ctypes.c_size_t(len(memory))
    library = ctypes.CDLL(None, use_errno=True)
    if library.mprotect(start, size, PROT_READ):
        raise OSError(ctypes.get_errno(), "the data cannot be made unwritable")
    addresses = copy.data_ptr(), copy.data_ptr() + len(memory)
    write_faults.RANGES.append(addresses)
    weakref.finalize(memory, write_faults.RANGES.remove, addresses).atexit = False
    return copy


def fixed(split: Split) -> Split:
    """Return a copy of the split in read-only memory."""
    return replace(split, inputs=read_only(split.inputs), targets=read_only(split.targets))
