"""Sockets forbidden to a process, by a filter of its system calls (Linux's seccomp).

Sockets that are open already, and pairs of connected ones, can be used. All others are refused:
networks, and the sockets of services on this machine.
Source: https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Mapping

ARCHITECTURES: Mapping[str, tuple[int, int]] = {
    "x86_64": (0xC000003E, 41),
    "aarch64": (0xC00000B7, 198),
}
"""Machine → the kernel's number of its architecture, and that of the system call `socket`."""

IO_URING_SETUP = 425
"""The start of an interface by which sockets can be opened without that call."""

X32 = 0x40000000
"""System calls from this number on are those of another interface of x86_64."""

PR_GET_SECCOMP, PR_SET_SECCOMP, FILTER = 21, 22, 2

LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
"""Instructions of the classic Berkeley packet filter."""

NUMBER, ARCHITECTURE = 0, 4
"""Offsets in `struct seccomp_data`."""

ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EACCES


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def is_available() -> bool:
    """Return whether system calls can be filtered here."""
    known = platform.machine() in ARCHITECTURES
    return known and ctypes.CDLL(None).prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0


def forbid_sockets() -> None:
    """Refuse new sockets to this thread, and to the threads and processes that it starts.

    They raise PermissionError. The process must have given up new privileges. Raises OSError.
    """
    instructions = _instructions(*ARCHITECTURES[platform.machine()])
    program = _Program(len(instructions), b"".join(instructions))
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _instructions(architecture: int, socket: int) -> list[bytes]:
    """Return the filter. A jump skips as many instructions if true, or if false."""
    return [
        _instruction(LOAD, 0, 0, ARCHITECTURE),
        _instruction(EQUAL, 0, 5, architecture),
        _instruction(LOAD, 0, 0, NUMBER),
        _instruction(AT_LEAST, 3, 0, X32),
        _instruction(EQUAL, 2, 0, socket),
        _instruction(EQUAL, 1, 0, IO_URING_SETUP),
        _instruction(RETURN, 0, 0, ALLOW),
        _instruction(RETURN, 0, 0, REFUSE),
    ]


def _instruction(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
