"""Crashes are reported, and those by a write to read-only data are marked."""

import signal
import subprocess
import sys

import pytest
import torch

from bnnbench.engine.run.guards import write_faults
from bnnbench.engine.run.guards.data_guard import read_only
from bnnbench.engine.run.guards.write_faults import MARK

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="marks are made on Linux only")

CRASHING = """
import ctypes, faulthandler, mmap, sys
from bnnbench.engine.run.guards import write_faults

faulthandler.enable(1)
write_faults.mark_writes(1)
memory = mmap.mmap(-1, 4096)
start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
ctypes.CDLL(None).mprotect(ctypes.c_void_p(start), ctypes.c_size_t(4096), 1)
write_faults.RANGES.append((start, start + 4096))

def crash():
    {deed}

crash()
"""


def crash(deed: str) -> str:
    """Return what a process writes that crashes by this deed."""
    command = [sys.executable, "-c", CRASHING.format(deed=deed)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGSEGV, ended.stderr
    return ended.stdout


def test_a_write_to_read_only_data_is_marked_and_its_place_reported():
    written = crash("memory[0] = 1")
    assert MARK in written
    assert "in crash" in written


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="needs a handler on another stack")
def test_an_overflow_of_the_stack_is_reported_without_a_mark():
    written = crash("faulthandler._stack_overflow()")
    assert "in crash" in written
    assert MARK not in written


def test_another_crash_is_reported_without_a_mark():
    written = crash("ctypes.string_at(0)")
    assert "in crash" in written
    assert MARK not in written


def test_the_addresses_of_a_copy_are_forgotten_with_it():
    before = list(write_faults.RANGES)
    copy = read_only(torch.ones(5))
    view = copy[2:]
    del copy
    (new,) = set(write_faults.RANGES) - set(before)
    assert new[0] < view.data_ptr() < new[1]
    del view
    assert before == write_faults.RANGES
