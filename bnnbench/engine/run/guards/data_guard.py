"""Detect methods that modify shared data: their run fails, and other runs are unaffected.

NumPy writes into a tensor without leaving a trace in it, so contents are compared, not versions.
Methods in an isolated process get copies in read-only memory instead.
"""

import ctypes
import mmap
import weakref
import zlib
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from bnnbench.datasets.base import Split
from bnnbench.datasets.reading import cache
from bnnbench.engine.run.guards import write_faults

Result = TypeVar("Result")

CHANGED = "the method changed the data it was given; it must work on a copy"

_checksums: MutableMapping[Tensor, int] = WeakIdKeyDictionary()
"""Tensor → its checksum before any method saw it."""


class DataChanged(ValueError):
    """A method wrote into the data that it was given."""


def sound(*splits: Split) -> bool:
    """Return whether the splits are unchanged since the first call with them."""
    # All are checksummed before a method sees any.
    current = [(tensor, _checksum(tensor)) for tensor in _tensors(splits)]
    return all([_checksums.setdefault(tensor, value) == value for tensor, value in current])


@contextmanager
def unchanged(*splits: Split) -> Iterator[None]:
    """Raise DataChanged if the block changes the splits, whatever else it raises.

    Sources then drop their caches, so that the next run reads its data again.
    """
    for tensor in _tensors(splits):
        if tensor not in _checksums:
            _checksums[tensor] = _checksum(tensor)
    try:
        yield
    finally:
        if not sound(*splits):
            cache.forget()
            raise DataChanged(CHANGED)


def unchanged_data(call: Callable[..., Result], *splits: Split) -> Callable[..., Result]:
    """Return the function, guarded by `unchanged`."""

    def guarded(*arguments: object) -> Result:
        with unchanged(*splits):
            return call(*arguments)

    return guarded


def _tensors(splits: Sequence[Split]) -> list[Tensor]:
    """Return the tensors of splits, each once: seeds of a fold share theirs."""
    tensors = (tensor for split in splits for tensor in (split.inputs, split.targets))
    return list({id(tensor): tensor for tensor in tensors}.values())


def _checksum(tensor: Tensor) -> int:
    """Return the CRC of a tensor's values, which misses one change in four billion."""
    values = tensor.detach().cpu().contiguous().numpy()
    return zlib.crc32(values.reshape(-1).view("u1").data)


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
