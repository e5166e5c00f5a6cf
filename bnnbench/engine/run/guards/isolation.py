"""Fits without test rows in the process, on data that nobody can write to.

A foreign method has a process of its own. Training rows come into it from another process; test
rows follow once the fit is over.
"""

import ctypes
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast

import torch
from torch import Tensor

from bnnbench.datasets.base import Dataset, DataSource, PoolSource, Split
from bnnbench.datasets.reading import cache

PROT_READ = 1

Request = tuple[Literal["train", "test"], DataSource, int, tuple[int, ...]]
"""Part, source, fold, and the rows of a pool that were acquired."""


@dataclass(frozen=True)
class Keeper:
    """The rows that another process gives to this one, where nobody can write to them.

    `ask` passes a request on to `answered` in that process.
    """

    ask: Callable[[Request], Dataset]
    _given: dict[Request, Dataset] = field(default_factory=dict)

    def training_rows(self, source: DataSource, fold: int, acquired: Sequence[int] = ()) -> Dataset:
        """Return a fold without its test rows; raises what the source raises."""
        return self._part(("train", source, fold, tuple(acquired)))

    def all_rows(self, source: DataSource, fold: int, acquired: Sequence[int] = ()) -> Dataset:
        """Return a whole fold."""
        rest = self._part(("test", source, fold, tuple(acquired)))
        train = self.training_rows(source, fold, acquired)
        return replace(train, test=rest.test, truth=rest.truth, exact=rest.exact)

    def forget(self) -> None:
        """Drop all rows that were given, and those that sources keep."""
        self._given.clear()
        cache.forget()

    def _part(self, request: Request) -> Dataset:
        if request not in self._given:
            part = self.ask(request)
            self._given[request] = replace(part, train=_fixed(part.train), test=_fixed(part.test))
        return self._given[request]


def answered(request: Request) -> Dataset:
    """Return a fold with training rows alone, or test rows alone."""
    part, source, fold, acquired = request
    dataset = (
        cast(PoolSource, source).with_acquired(fold, acquired) if acquired else source.load(fold)
    )
    nothing = slice(0, 0)
    if part == "train":
        return replace(dataset, test=dataset.test.rows(nothing), truth=None, exact=None)
    return replace(dataset, train=dataset.train.rows(nothing))


def read_only(tensor: Tensor) -> Tensor:
    """Return a copy in memory that cannot be written: whoever tries ends the process there.

    Whatever views it, in NumPy or in torch, cannot write either. Empty tensors, and those of a GPU,
    are returned as they are.
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
    return copy


def _fixed(split: Split) -> Split:
    return replace(split, inputs=read_only(split.inputs), targets=read_only(split.targets))
