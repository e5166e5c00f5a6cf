"""A problem, a compiler and a substitute for a GPU that several tests share."""

import ctypes
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from bnnbench.methods.base import Problem
from bnnbench.methods.networks.architectures import Linear
from tests.methods.emulated import Emulator, compiler
from tests.methods.problems import regression


@pytest.fixture(scope="session")
def linear() -> Problem:
    """Linear regression with known noise, whose posterior has a closed form."""
    return regression(
        rows=60, noise_std=0.5, architecture=(Linear(1),), true_std=0.5, dtype=torch.float64
    )


@pytest.fixture(scope="module")
def nvrtc() -> ctypes.CDLL:
    """NVIDIA's compiler from its wheel."""
    found = find_spec("nvidia")
    for folder in found.submodule_search_locations or () if found else ():
        for library in sorted(Path(folder).glob("*/lib/libnvrtc.so.*")):
            for builtins in library.parent.glob("libnvrtc-builtins.so.*"):
                ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
            return ctypes.CDLL(str(library))
    pytest.skip("needs NVIDIA's compiler: pip install nvidia-cuda-nvrtc")


@pytest.fixture(scope="session")
def emulator(tmp_path_factory) -> Emulator:
    """Runs CUDA kernels on the processor."""
    if not compiler():
        pytest.skip("needs a C++ compiler, which takes the place of a GPU")
    return Emulator(tmp_path_factory.mktemp("emulator"))
