"""Crashes by a write to read-only data, told from other crashes by the address of the fault."""

import ctypes
import os
import signal
import sys
from typing import Any

MARK = "a write to read-only data\n"

RANGES: list[tuple[int, int]] = []
"""First address and end of each read-only copy of data in this process."""

SA_SIGINFO, ADDRESS_IN_SIGINFO = 4, 16
"""A flag of Linux's sigaction, and the place of `si_addr` on its 64-bit systems."""


class _Action(ctypes.Structure):
    """`struct sigaction` of Linux on 64-bit systems."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_IN_USE: list[Any] = []
"""Handlers that must not be freed."""


def mark_writes(descriptor: int) -> None:
    """Write `MARK` to a descriptor if this process crashes by a write to read-only data.

    The earlier handler of the signal follows. On other systems than 64-bit Linux nothing is marked.
    """
    if sys.platform != "linux" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return
    for number in (signal.SIGSEGV, signal.SIGBUS):
        _handle(number, descriptor)


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
    action = _Action(ctypes.cast(handler, ctypes.c_void_p).value, flags=SA_SIGINFO)
    library.sigaction(number, ctypes.byref(action), ctypes.byref(before))
