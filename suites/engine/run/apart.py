"""Fits without test rows in the process, on data that nobody can write to.

A foreign method has a process of its own. Training rows come into it from another process; all rows
are loaded once the fit is over.
"""

import ctypes
import mmap
import multiprocessing
import pickle
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import cast

import torch
from torch import Tensor

from bnnbench.datasets.base import Dataset, DataSource, PoolSource, Split
from bnnbench.datasets.reading import cache

PROT_READ = 1

_CONTEXT = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


class Keeper:
    """A process beside this one that loads data sets, and gives out their training rows alone.

    It forks from this one, without the ends `closing`, so it must start before any test row or
    foreign module is here. It ends with this one.
    """

    def __init__(self, closing: Sequence[socket.socket] = ()) -> None:
        self._given: dict[object, Dataset] = {}
        self._pipe, end = _CONTEXT.Pipe()
        theirs = (*closing, self._pipe) if _CONTEXT.get_start_method() == "fork" else ()
        process = _CONTEXT.Process(target=_keep, args=(end, theirs), daemon=True)
        process.start()
        end.close()

    def training_rows(self, source: DataSource, fold: int, acquired: Sequence[int] = ()) -> Dataset:
        """Return a fold without its test rows, in memory that cannot be written.

        Raises what the source raises.
        """
        asked = "training", source, fold, tuple(acquired)
        if asked not in self._given:
            self._pipe.send_bytes(pickle.dumps((source, fold, acquired)))
            answer = pickle.loads(self._pipe.recv_bytes())
            if isinstance(answer, Exception):
                raise answer
            self._given[asked] = _unwritable(answer)
        return self._given[asked]

    def all_rows(self, source: DataSource, fold: int, acquired: Sequence[int] = ()) -> Dataset:
        """Return a fold, loaded by this process, in memory that cannot be written."""
        asked = "all", source, fold, tuple(acquired)
        if asked not in self._given:
            self._given[asked] = _unwritable(_loaded(source, fold, acquired))
        return self._given[asked]

    def forget(self) -> None:
        """Drop all data sets that were given, and those that sources keep."""
        self._given.clear()
        cache.forget()


def _unwritable(dataset: Dataset) -> Dataset:
    """Return the data set with rows that cannot be written."""
    return replace(dataset, train=_fixed(dataset.train), test=_fixed(dataset.test))


def _loaded(source: DataSource, fold: int, acquired: Sequence[int]) -> Dataset:
    if acquired:
        return cast(PoolSource, source).grown(fold, acquired)
    return source.load(fold)


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
    library = ctypes.CDLL(None, use_errno=True)
    if library.mprotect(ctypes.c_void_p(copy.data_ptr()), ctypes.c_size_t(len(memory)), PROT_READ):
        raise OSError(ctypes.get_errno(), "the data cannot be made unwritable")
    return copy


def _fixed(split: Split) -> Split:
    return replace(split, inputs=read_only(split.inputs), targets=read_only(split.targets))


def _keep(end: Connection, closing: Sequence[socket.socket | Connection]) -> None:
    """Answer requests for training rows until the process that asks ends."""
    for other in closing:
        other.close()
    while True:
        try:
            source, fold, acquired = pickle.loads(end.recv_bytes())
        except EOFError:
            return
        try:
            answer: object = _training_part(source, fold, acquired)
        except Exception as error:
            answer = error
        end.send_bytes(pickle.dumps(answer))


def _training_part(source: DataSource, fold: int, acquired: Sequence[int]) -> Dataset:
    dataset = _loaded(source, fold, acquired)
    return replace(dataset, test=dataset.test.rows(slice(0, 0)), truth=None)
