"""The kernels on a GPU, fused where this saves launches (kernels/fused.py)."""

from typing import Any

from bnnbench.methods.message_passing.kernels.cuda import Cuda
from bnnbench.methods.message_passing.kernels.fused_operations import FusedOperations


class FusedCuda(FusedOperations, Cuda):
    """The kernels of this folder's .cu files, including the fused ones."""


KERNELS = FusedCuda()


def __getattr__(name: str) -> Any:
    return getattr(KERNELS, name)
