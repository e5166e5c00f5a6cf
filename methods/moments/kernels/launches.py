"""Launch sizes of the kernels and assembly of their source; no GPU is needed."""

from functools import cache
from math import ceil
from pathlib import Path

import torch

from bnnbench.methods.compiled import headers
from bnnbench.methods.compiled.c_library import DEFINES
from bnnbench.methods.compiled.cuda_source import with_headers

FOLDERS = (Path(__file__).parent, headers.FOLDER)
"""Folders of sources and headers."""
OPTIONS = {
    torch.float32: ("--std=c++17", "--fmad=false", "--ftz=true", *DEFINES[torch.float32]),
    torch.float64: ("--std=c++17", "--fmad=false", *DEFINES[torch.float64]),
}
"""As in C, products and sums are fused only where the source says so, and subnormal numbers of
single precision are 0."""
THREADS = 256
MOST_BLOCKS = 4096
"""Maximum number of blocks; each thread loops over further elements."""


def blocks(count: int) -> int:
    """Return the number of blocks of threads for this many elements."""
    return min(ceil(count / THREADS), MOST_BLOCKS)


@cache
def source() -> str:
    """Return the kernels' source with its headers included."""
    return with_headers("units.cu", FOLDERS)
