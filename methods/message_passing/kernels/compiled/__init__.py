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
from bnnbench.methods.message_passing.kernels.operations import Operations
from bnnbench.methods.message_passing.kernels.unit_operations import Argument

FOLDER = Path(__file__).parent
LIBRARY = CLibrary(
    folder=FOLDER,
    sources=("dense.c", "elementwise.c", "labels.c", "pooling.c", "sums.c", "units.c", "weights.c"),
    headers=(headers.FOLDER, shared.FOLDER),
    places=places_for(FOLDER, "message_passing"),
    cure='choose MessagePassing(backend="reference")',
)

ARGUMENTS = {
    "leaky_relu_direct_all": "nrpppp",
    "leaky_relu_forward_all": "nnrppppppp",
    "leaky_relu_backward_all": "nnrppppppp",
    "argmax_backward_all": "nnrrppppp",
    "max_pool_forward_all": "nppppp",
    "max_pool_backward_all": "nppppppp",
    "exact_weight_sums_all": "ppppppppp",
    "exact_input_sums_all": "ppppppppp",
    "exact_first_forward_all": "pppppppp",
    "exact_first_weight_sums_all": "pppppppppp",
    "fill_moments_all": "pppppppp",
    "output_messages_all": "pppppppp",
    "fill_pulls_all": "pppppppp",
    "fill_pulls_without_own_all": "ppppppppppp",
    "input_messages_all": "ppppppp",
    "bias_messages_all": "ppppppp",
    "begin_all": "ppppppppppp",
    "fill_residual_all": "pppppppppp",
    "fill_image_all": "pppppppp",
    "step_all": "ppppppp",
    "turn_all": "ppppppp",
    "finish_all": "pppp",
    "fill_weight_moments_all": "nppppp",
    "exchange_all": "nrpppppppppp",
    "dense_sums_all": "pppppp",
    "dense_messages_all": "prpppppppppppp",
}
"""The arguments of the C functions: n lengths, r numbers, p addresses."""
TYPES = {"n": c_int64, "r": c_double, "p": c_void_p}


class Compiled(Operations):
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
    function.argtypes = [TYPES[kind] for kind in ARGUMENTS[name]]
    return function


KERNELS = Compiled()
leaky_relu_forward = KERNELS.leaky_relu_forward
leaky_relu_backward = KERNELS.leaky_relu_backward
max_pool_forward = KERNELS.max_pool_forward
max_pool_backward = KERNELS.max_pool_backward
argmax_backward = KERNELS.argmax_backward
exact_weight_sums = KERNELS.exact_weight_sums
exact_input_sums = KERNELS.exact_input_sums
exact_first_forward = KERNELS.exact_first_forward
exact_first_weight_sums = KERNELS.exact_first_weight_sums
fill_moments = KERNELS.fill_moments
output_messages = KERNELS.output_messages
fill_pulls = KERNELS.fill_pulls
fill_pulls_without_own = KERNELS.fill_pulls_without_own
input_messages = KERNELS.input_messages
bias_messages = KERNELS.bias_messages
begin = KERNELS.begin
fill_residual = KERNELS.fill_residual
fill_image = KERNELS.fill_image
step = KERNELS.step
turn = KERNELS.turn
finish = KERNELS.finish
fill_weight_moments = KERNELS.fill_weight_moments
exchange = KERNELS.exchange
dense_sums = KERNELS.dense_sums
dense_messages = KERNELS.dense_messages

FUSED = False
FEW_ROWS = 16
"""Up to this many rows, `dense_sums` and `dense_messages` are faster than matrix products."""
