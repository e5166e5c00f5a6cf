"""The kernels on a GPU, through CuPy, on torch's tensors without copying.

They run asynchronously on torch's current stream; counts stay on the device. Each kernel is
compiled at its first call, which must precede its capture in a CUDA graph; after that only
torch allocates. Sums run in a fixed order, so results are reproducible. CuPy compiles
so that float32 values below 1e-38 become 0.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bnnbench.methods.base import PackageMissing
from bnnbench.methods.compiled import headers as shared
from bnnbench.methods.compiled.c_library import DEFINES
from bnnbench.methods.compiled.cuda_source import with_headers
from bnnbench.methods.compiled.cupy_builds import installation
from bnnbench.methods.message_passing.kernels import headers
from bnnbench.methods.message_passing.kernels.backend import with_operations
from bnnbench.methods.message_passing.kernels.grids import Launch, parts, weight_sums
from bnnbench.methods.message_passing.kernels.patterns import Argument
from bnnbench.methods.message_passing.kernels.table import IN_CUDA, KERNELS

FOLDERS = (Path(__file__).parent, headers.FOLDER, shared.FOLDER)
"""Folders of sources and headers."""
OPTIONS = ("--std=c++17", "--fmad=false")
"""Products and sums are fused only where the source says so, so that all bits match the C ones."""


@with_operations(IN_CUDA)
class Cuda:
    """The kernels of this folder's .cu files."""

    def call(self, name: str, dtype: torch.dtype, *arguments: Argument) -> int:
        """Launch a kernel for messages of this type, without waiting for it."""
        numbers, tensors = flattened(arguments)
        if KERNELS[name].grid is not weight_sums:
            self._launch(name, dtype, numbers, tensors)
            return 0
        members, rows, inputs, outputs = (int(number) for number in numbers)
        count = parts(rows, inputs, outputs)
        *given, tau, rho = tensors
        assert tau is not None
        assert rho is not None
        if count == 1:
            self._launch(name, dtype, [*numbers, 1], tensors)
            return 0
        both = [out.new_empty(count, *out.shape) for out in (tau, rho)]
        self._launch(name, dtype, [*numbers, count], [*given, *both])
        self._launch("add_parts", dtype, [members * outputs * inputs, count], [*both, tau, rho])
        return 0

    def _launch(
        self,
        name: str,
        dtype: torch.dtype,
        numbers: Sequence[float],
        tensors: Sequence[Tensor | None],
    ) -> None:
        lengths = [number for number in numbers if isinstance(number, int)]
        how = KERNELS[name].launch(*lengths)
        if how is not None:
            defines = list(DEFINES[dtype])
            if KERNELS[name].file == "pooling":
                defines.append(f"-DPOOL={lengths[4]}")
            self.run(name, tuple(defines), how, numbers, tensors)

    def run(
        self,
        name: str,
        defines: tuple[str, ...],
        how: Launch,
        numbers: Sequence[float],
        tensors: Sequence[Tensor | None],
    ) -> None:
        """Launch a kernel, compiled with these macros, on torch's current stream."""
        device = next(tensor.device for tensor in tensors if tensor is not None)
        if device.type != "cuda":
            raise ValueError(f"needed tensors on a GPU for {name}; got them on {device}")
        cupy = _cupy()
        stream = cupy.cuda.Stream.from_external(_CurrentStream(device))
        with cupy.cuda.Device(device.index), stream:
            kernel = _kernel(name, defines, device.index)
            addresses = (0 if t is None else t.data_ptr() for t in tensors)
            kernel(*how, (*numbers, *addresses))


class _CurrentStream:
    """Torch's current stream in the form in which CuPy accepts external streams."""

    def __init__(self, device: torch.device) -> None:
        self._handle = torch.cuda.current_stream(device).cuda_stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


def flattened(arguments: Sequence[Argument]) -> tuple[list[int | float], list[Tensor | None]]:
    """Return numbers and tensors (or None) separately: every kernel takes its numbers first."""
    numbers: list[int | float] = []
    tensors: list[Tensor | None] = []
    for argument in arguments:
        if argument is None or isinstance(argument, Tensor):
            tensors.append(argument)
        elif isinstance(argument, tuple):
            numbers.extend(argument)
        else:
            numbers.append(argument)
    return numbers, tensors


def source(file: str) -> str:
    """Return a file, named without suffix, with its headers included; no GPU is needed."""
    return with_headers(f"{file}.cu", FOLDERS)


@cache
def _kernel(name: str, defines: tuple[str, ...], device: int) -> Any:
    """Return a kernel loaded on a device."""
    return _module(KERNELS[name].file, defines, device).get_function(name)


@cache
def _module(file: str, defines: tuple[str, ...], device: int) -> Any:
    return _cupy().RawModule(code=source(file), options=(*OPTIONS, *defines))


@cache
def _cupy() -> Any:
    try:
        return import_module("cupy")
    except ImportError as missing:
        raise PackageMissing(
            f"needed cupy ({missing}) for message passing on a GPU: {installation()}, or "
            'choose MessagePassing(backend="reference")'
        ) from missing


CUDA = Cuda()
FUSED = False
FEW_ROWS = 0
"""There are no `dense_sums`: a GPU's library also multiplies few rows efficiently."""


def __getattr__(name: str) -> Any:
    return getattr(CUDA, name)
