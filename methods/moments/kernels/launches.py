"""How many threads a kernel is given, and how its source is put together; no GPU is needed."""

import re
from functools import cache
from math import ceil
from pathlib import Path

import torch

from bnnbench.methods.compiled.c_library import DEFINES

HERE = Path(__file__).parent
FOLDERS = (HERE, HERE.parents[1] / "message_passing" / "kernels")
"""Where headers are looked for."""
OPTIONS = {
    torch.float32: ("--std=c++17", "--fmad=false", "--ftz=true", *DEFINES[torch.float32]),
    torch.float64: ("--std=c++17", "--fmad=false", *DEFINES[torch.float64]),
}
"""As in C, products and sums are fused where the source says so alone, and single precision's
least numbers are 0."""
THREADS = 256
MOST_BLOCKS = 4096
"""Threads go on to further elements."""


def blocks(count: int) -> int:
    """Return how many blocks of threads compute this many elements."""
    return min(ceil(count / THREADS), MOST_BLOCKS)


@cache
def source() -> str:
    """Return the kernels with their headers in place: compilers' caches then see all of it."""
    return _expanded("units.cu", set())


def _expanded(name: str, seen: set[str]) -> str:
    if name in seen:
        return ""
    seen.add(name)
    path = next(path for folder in FOLDERS if (path := folder / name).exists())
    text = path.read_text().replace("#pragma once\n", "")
    return re.sub(r'#include "(\w+\.cuh)"\n', lambda found: _expanded(found[1], seen), text)
