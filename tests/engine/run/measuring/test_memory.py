"""Growth of memory, and its record."""

import ctypes
import subprocess
import sys

import pytest
import torch

from bnnbench.engine.run.measuring.memory import growth

MEBIBYTE = 2**20


def test_what_a_block_allocates_and_frees_is_seen():
    with growth(torch.device("cpu")) as grown:
        torch.ones(64 * MEBIBYTE // 4).sum()
    assert 60 * MEBIBYTE < grown.bytes < 90 * MEBIBYTE


def test_what_was_allocated_before_is_not_counted():
    held = torch.ones(64 * MEBIBYTE // 4)
    with growth(torch.device("cpu")) as grown:
        held.sum()
    assert grown.bytes < 16 * MEBIBYTE


def test_memory_that_an_earlier_block_freed_is_counted_again():
    """In one of two later blocks at least: a system short of memory may take pages meanwhile."""
    sizes, held = [], []
    for _ in range(3):
        with growth(torch.device("cpu")) as grown:
            pieces = [torch.ones(2**14) for _ in range(2**10)]  # 64 KiB each, out of the heap
            held.append(torch.ones(2**14))  # above them, so that the heap does not shrink
            del pieces
        sizes.append(grown.bytes)
    assert max(sizes[1:]) > 56 * MEBIBYTE


KEPT = """
import resource, sys, torch
from bnnbench.engine.run.measuring.memory import growth, keep_freed
if sys.argv[1] == "keep":
    keep_freed()
buffer = lambda: torch.ones(64 * 2**20 // 4).sum()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):  # a free block may be short of what alignment needs, once or twice
    buffer()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
with growth(torch.device("cpu")) as grown:
    buffer()
print(grown.bytes)
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="needs glibc")
def test_kept_memory_is_used_again_and_still_counted():
    faults, grown = {}, {}
    for way in ("keep", "give back"):
        run = subprocess.run(
            [sys.executable, "-c", KEPT, way], capture_output=True, text=True, check=True
        )
        faults[way], grown[way] = map(float, run.stdout.split())
    assert faults["keep"] < 0.7 * faults["give back"]
    assert 60 * MEBIBYTE < grown["keep"] < 90 * MEBIBYTE
