"""The kernels in C, for tensors in main memory. `reference` defines their results.

Single precision is computed in single precision. No element's bits depend on its position in a
tensor.
"""

from ctypes import c_double, c_int64, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bnnbench.methods.compiled import headers
from bnnbench.methods.compiled.c_library import CLibrary
from bnnbench.methods.compiled.cache import places_for
from bnnbench.methods.moments.kernels.operations import Operations

FOLDER = Path(__file__).parent
LIBRARY = CLibrary(
    folder=FOLDER,
    sources=("units.c",),
    headers=(headers.FOLDER,),
    places=places_for(FOLDER, "moment_propagation"),
    cure='choose backend="reference"',
)


class Compiled(Operations):
    """The functions of the C library."""

    def call(self, name: str, numbers: tuple[float, ...], tensors: list[Tensor]) -> None:
        """Call the library's function for the type of these tensors."""
        first = tensors[0]
        if not first.is_cpu:
            raise ValueError(f"needed tensors in main memory for {name}; got {first.device}")
        addresses = [tensor.data_ptr() for tensor in tensors]
        function = _function(name, first.dtype, len(numbers), len(addresses))
        function(first.numel(), *numbers, *addresses)


@cache
def _function(name: str, dtype: torch.dtype, numbers: int, addresses: int) -> Any:
    function = getattr(LIBRARY.load(dtype), name)
    function.argtypes = [c_int64, *[c_double] * numbers, *[c_void_p] * addresses]
    return function


KERNELS = Compiled()
rectifier = KERNELS.rectifier
rectifier_gradient = KERNELS.rectifier_gradient
maximum = KERNELS.maximum
maximum_gradient = KERNELS.maximum_gradient
