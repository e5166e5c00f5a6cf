"""The kernels on a GPU, through CuPy, on torch's tensors without copying.

They run asynchronously on torch's current stream. Each kernel is compiled at its first call.
"""

from functools import cache
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from bnnbench.methods.base import PackageMissing
from bnnbench.methods.compiled.cupy_builds import installation
from bnnbench.methods.moments.kernels.launches import OPTIONS, THREADS, blocks, source
from bnnbench.methods.moments.kernels.operations import Operations


class Cuda(Operations):
    """The kernels of units.cu."""

    def call(self, name: str, numbers: tuple[float, ...], tensors: list[Tensor]) -> None:
        """Launch a kernel for the type of these tensors."""
        first = tensors[0]
        if first.device.type != "cuda":
            raise ValueError(f"needed tensors on a GPU for {name}; got {first.device}")
        if first.numel():
            self.run(name, numbers, tensors)

    def run(self, name: str, numbers: tuple[float, ...], tensors: list[Tensor]) -> None:
        """Launch a kernel on torch's current stream."""
        first = tensors[0]
        stream = cupy().cuda.Stream.from_external(_CurrentStream(first.device))
        arguments = (first.numel(), *numbers, *(tensor.data_ptr() for tensor in tensors))
        with cupy().cuda.Device(first.device.index), stream:
            kernel = _kernel(name, first.dtype, first.device.index)
            kernel((blocks(first.numel()),), (THREADS,), arguments)


class _CurrentStream:
    """Torch's current stream in the form in which CuPy accepts external streams."""

    def __init__(self, device: torch.device) -> None:
        self._handle = torch.cuda.current_stream(device).cuda_stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


@cache
def cupy() -> Any:
    """Return CuPy, or raise `PackageMissing`."""
    try:
        return import_module("cupy")
    except ImportError as missing:
        raise PackageMissing(
            f"needed cupy ({missing}) for fast kernels on a GPU: {installation()}"
        ) from missing


@cache
def _kernel(name: str, dtype: torch.dtype, device: int) -> Any:
    """Return a kernel loaded on a device."""
    return _module(dtype, device).get_function(name)


@cache
def _module(dtype: torch.dtype, device: int) -> Any:
    return cupy().RawModule(code=source(), options=OPTIONS[dtype])


KERNELS = Cuda()
rectifier = KERNELS.rectifier
rectifier_gradient = KERNELS.rectifier_gradient
maximum = KERNELS.maximum
maximum_gradient = KERNELS.maximum_gradient
