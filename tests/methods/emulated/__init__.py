"""CUDA kernels on a processor, which also finds races between their blocks.

The sources are compiled as C++ and run with one thread per CUDA thread, blocks in a shuffled order.
"""

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from bnnbench.methods.compiled.c_library import STRICT

HERE = Path(__file__).parent
Sides = tuple[int, int, int]
"""Of a grid in blocks, or of a block in threads."""
STANDARD = ("-std=c++20", *(flag for flag in STRICT if not flag.startswith("-std")))
FLAGS = (*STANDARD, "-O2", "-march=native", "-fPIC", "-pthread", "-w")
REPORTING = ("-fsanitize=thread", "-fno-tree-loop-distribute-patterns")
"""Every access to memory is reported; none is left to memset or memcpy."""
VERBS = {0: ("reads", "read"), 1: ("writes", "written"), 2: ("adds to", "added to")}


class RaceFound(AssertionError):
    """A block touched what another block of the same launch wrote: neither order is certain."""


class _Race(ctypes.Structure):
    _fields_ = (
        ("access", ctypes.c_int),
        ("earlier", ctypes.c_int),
        ("block", ctypes.c_uint),
        ("earlier_block", ctypes.c_uint),
        ("at", ctypes.c_void_p),
    )


class Emulator:
    """Compiles kernels, and launches them as a driver does.

    The order of blocks is another in each launch, and the same in each process.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.launches = folder, 0
        self.runner = folder / "emulator.so"
        built(*FLAGS, "-shared", str(HERE / "emulator.cpp"), "-o", str(self.runner))
        self.emulate = ctypes.CDLL(str(self.runner)).emulate
        self.emulate.restype = _Race

    def library(self, source: str, kernels: Iterable[str], *defines: str) -> "Library":
        """Return a source's kernels, compiled with these macros."""
        text = Path(tempfile.mkdtemp(dir=self.folder)) / "kernels.cpp"
        emulated = "".join(f"EMULATED({kernel})\n" for kernel in kernels)
        text.write_text(f'#include "{HERE / "emulator.hpp"}"\n{source}\n{emulated}')
        part, whole = text.with_suffix(".o"), text.with_suffix(".so")
        built(*FLAGS, *REPORTING, *defines, "-c", str(text), "-o", str(part))
        built("-shared", str(part), str(self.runner), "-o", str(whole))
        return Library(self, text, defines, ctypes.CDLL(str(whole)))


class Library:
    """Compiled kernels of one source."""

    def __init__(
        self, emulator: Emulator, text: Path, defines: tuple[str, ...], code: ctypes.CDLL
    ) -> None:
        self.emulator, self.text, self.defines, self.code = emulator, text, defines, code
        code.shared_start.restype = ctypes.c_void_p
        code.shared_bytes.restype = ctypes.c_size_t

    def launch(
        self,
        kernel: str,
        grid: Sides,
        block: Sides,
        numbers: Sequence[float],
        tensors: Sequence[Tensor | None],
    ) -> None:
        """Run a kernel, which takes its numbers before its tensors; raises `RaceFound`."""
        values = [
            ctypes.c_int64(number) if isinstance(number, int) else ctypes.c_double(number)
            for number in numbers
        ]
        values += [ctypes.c_void_p(t if t is None else t.data_ptr()) for t in tensors]
        addresses = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        shared = (self.code.shared_start() or 0, self.code.shared_bytes())
        memory = dict(_memory(t) for t in tensors if t is not None and t.numel())
        starts, sizes = zip(shared, *memory.items(), strict=True)
        self.emulator.launches += 1
        race = self.emulator.emulate(
            ctypes.cast(self.code[f"run_{kernel}"], ctypes.c_void_p),
            addresses,
            (ctypes.c_uint * 6)(*grid, *block),
            self.emulator.launches,
            len(starts),
            (ctypes.c_void_p * len(starts))(*starts),
            (ctypes.c_size_t * len(sizes))(*sizes),
        )
        if race.at is not None:
            raise RaceFound(f"{kernel}: {_told(race, grid, self._touched(kernel, race, tensors))}")

    def _touched(self, kernel: str, race: _Race, tensors: Sequence[Tensor | None]) -> str:
        """Return the name and index of the element at the address of a race."""
        names = _parameters(self.text, kernel, self.defines)[-len(tensors) :]
        for name, tensor in zip(names, tensors, strict=True):
            if tensor is not None and (found := place(tensor, race.at)) is not None:
                return f"{name}{list(found)}"
        return "shared memory"


def _told(race: _Race, grid: Sides, touched: str) -> str:
    does, did = VERBS[race.access][0], VERBS[race.earlier][1]
    block = _index(race.block, grid)
    if not race.earlier_block:
        return f"block {block} {does} {touched} before it is written"
    other = _index(race.earlier_block, grid)
    return f"block {block} {does} {touched}, {did} by block {other} in the same launch"


def _index(block: int, grid: Sides) -> Sides:
    """Return the index of a block that is numbered from 1."""
    x, y, _ = grid
    return (block - 1) % x, (block - 1) // x % y, (block - 1) // (x * y)


def place(tensor: Tensor, address: int) -> tuple[int, ...] | None:
    """Return the index of a tensor's element at an address; None if there is none."""
    start, count = _memory(tensor)
    size = tensor.element_size()
    numbers = torch.arange(count // size).as_strided(
        tensor.shape, tensor.stride(), tensor.storage_offset()
    )
    found = (numbers == (address - start) // size).nonzero()
    return tuple(found[0].tolist()) if len(found) else None


def _memory(tensor: Tensor) -> tuple[int, int]:
    """Return start and bytes of the memory that a tensor shares with its views."""
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.nbytes()


def _parameters(text: Path, kernel: str, defines: Sequence[str]) -> list[str]:
    """Return the names of a kernel's parameters, after all macros."""
    expanded = built(*FLAGS, *defines, "-E", "-P", str(text))
    found = re.search(rf"void\s+{kernel}\s*\((.*?)\)\s*\{{", expanded, re.DOTALL)
    assert found
    return [parameter.split()[-1].lstrip("*") for parameter in found[1].split(",")]


def built(*words: str) -> str:
    """Run the C++ compiler and return what it prints."""
    command = [*compiler(), *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def compiler() -> list[str]:
    """Return the command of a C++ compiler; empty if absent."""
    found = shutil.which("g++") or shutil.which("c++") or shutil.which("clang++")
    return [found] if found else []
