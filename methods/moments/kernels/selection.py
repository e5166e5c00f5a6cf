"""The choice of kernels for a device."""

import warnings
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Literal, get_args

import torch
from torch import Tensor

from bnnbench.methods.base import PackageMissing
from bnnbench.methods.compiled.c_library import DEFINES
from bnnbench.methods.moments.kernels import reference

Backend = Literal["fused", "reference"]
"""Kernels in C or CUDA if they can be compiled, or only torch, which takes many times as long.
"""


def kernels_for(backend: Backend, tensor: Tensor) -> ModuleType:
    """Return the kernels for a tensor's type and device; warn once if there are no fast ones."""
    if backend not in get_args(Backend):
        raise ValueError(f"needed backend from {get_args(Backend)}; got {backend!r}")
    if backend == "reference" or tensor.dtype not in DEFINES:
        return reference
    return _fused(tensor.device.type)


@cache
def _fused(device: str) -> ModuleType:
    folder = "bnnbench.methods.moments.kernels"
    try:
        if device == "cpu":
            compiled = import_module(f"{folder}.compiled")
            compiled.LIBRARY.load(torch.float32)
            return compiled
        if device == "cuda":
            cuda = import_module(f"{folder}.cuda")
            cuda.cupy()
            return cuda
    except PackageMissing as missing:
        warnings.warn(f"{missing}. Until then torch computes them, slowly.", stacklevel=2)
    return reference
