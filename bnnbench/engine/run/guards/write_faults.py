"""Crashes by a write to read-only data, told from other crashes by the address of the fault."""

import ctypes
import mmap
import os
import signal
import sys
from typing import Any

MARK = "a write to read-only data\n"

RANGES: list[tuple[int, int]] = []
"""First address and end of each read-only copy of data in this process."""

SA_SIGINFO, ADDRESS_IN_SIGINFO = 4, 16
"""A flag of Linux's sigaction, and the place of `si_addr` on its 64-bit systems."""

SA_ONSTACK = 0x08000000 if sys.version_info < (3, 14) else 0
"""Flag to handle a signal on another stack, since its own may have overflowed. Newer interpreters
run on the stack of their thread only."""

STACK_BYTES = 2**20
"""Size of that stack, on which the handler runs Python."""


class _Action(ctypes.Structure):
    """`struct sigaction` of Linux on 64-bit systems."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class _Stack(ctypes.Structure):
    """`stack_t` of Linux on 64-bit systems."""

    _fields_ = (("address", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_IN_USE: list[Any] = []
"""Handlers and their stack, which must not be freed."""


def mark_writes(descriptor: int) -> None:
    """Write `MARK` to a descriptor if this process crashes by a write to read-only data.

    The earlier handler of the signal follows. On other systems than 64-bit Linux nothing is marked.
    """
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return
    _have_a_stack()
    for number in (signal.SIGSEGV, signal.SIGBUS):
        _handle(number, descriptor)


def _have_a_stack() -> None:
    """Give this thread a stack on which to handle signals."""
    memory = mmap.mmap(-1, STACK_BYTES)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    ctypes.CDLL(None).sigaltstack(ctypes.byref(_Stack(start, 0, STACK_BYTES)), None)
    _IN_USE.append(memory)


def _handle(number: int, descriptor: int) -> None:
    library, before = ctypes.CDLL(None), _Action()

    def handle(number: int, information: int, _: int) -> None:
        address = ctypes.c_uint64.from_address(information + ADDRESS_IN_SIGINFO).value
        if any(start <= address < end for start, end in RANGES):
            os.write(descriptor, MARK.encode())
        library.sigaction(number, ctypes.byref(before), None)
        signal.raise_signal(number)  # delivered to the earlier handler once this one has returned

    handler = _Handler(handle)
    _IN_USE.extend([handler, before])
    action = _Action(ctypes.cast(handler, ctypes.c_void_p).value, flags=SA_SIGINFO | SA_ONSTACK)
    library.sigaction(number, ctypes.byref(action), ctypes.byref(before))
