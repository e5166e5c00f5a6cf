"""The kernels in C, for tensors in main memory. `reference` defines their results.

Single precision is computed in single precision: cancellation occurs only in precisions near 0,
most of which a guard replaces. No element's bits depend on its position in a tensor.
"""

from ctypes import Array, c_double, c_int64, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bnnbench.methods.compiled import headers as shared
from bnnbench.methods.compiled.c_library import CLibrary
from bnnbench.methods.compiled.cache import places_for
from bnnbench.methods.message_passing.kernels import headers
from bnnbench.methods.message_passing.kernels.backend import with_operations
from bnnbench.methods.message_passing.kernels.patterns import Argument
from bnnbench.methods.message_passing.kernels.table import IN_C, KERNELS

FOLDER = Path(__file__).parent
LIBRARY = CLibrary(
    folder=FOLDER,
    sources=tuple(
        sorted({f"{kernel.file}.c" for kernel in KERNELS.values() if kernel.c_arguments})
    ),
    headers=(headers.FOLDER, shared.FOLDER),
    places=places_for(FOLDER, "message_passing"),
    cure='choose MessagePassing(backend="reference")',
)

TYPES = {"n": c_int64, "r": c_double, "p": c_void_p}
"""Types of the letters in a kernel's `c_arguments`."""


@with_operations(IN_C)
class Compiled:
    """The functions of the C library."""

    def call(self, name: str, dtype: torch.dtype, *arguments: Argument) -> int:
        """Call the library's function for this type and return its status."""
        *_, last = arguments
        if not isinstance(last, Tensor) or not last.is_cpu:
            raise ValueError(f"needed tensors in main memory for {name}; got {last}")
        passed = [
            a.data_ptr() if isinstance(a, Tensor) else _integers(a) if isinstance(a, tuple) else a
            for a in arguments
        ]
        return _function(name, dtype)(*passed)


@cache
def _integers(values: tuple[int, ...]) -> Array:
    return (c_int64 * len(values))(*values)


@cache
def _function(name: str, dtype: torch.dtype) -> Any:
    function = getattr(LIBRARY.load(dtype), name)
    function.argtypes = [TYPES[kind] for kind in KERNELS[name].c_arguments]
    return function


COMPILED = Compiled()
FUSED = False
FEW_ROWS = 16
"""Up to this many rows, `dense_sums` and `dense_messages` are faster than matrix products."""


def __getattr__(name: str) -> Any:
    return getattr(COMPILED, name)
