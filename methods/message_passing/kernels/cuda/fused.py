"""The kernels on a GPU, fused where this saves launches (kernels/fused.py)."""

from typing import Any

from bnnbench.methods.message_passing.kernels.cuda import CUDA

FUSED = True
FEW_ROWS = 0


def __getattr__(name: str) -> Any:
    return getattr(CUDA, name)
