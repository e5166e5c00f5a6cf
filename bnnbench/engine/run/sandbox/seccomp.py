"""System calls refused to a process (Linux's seccomp), where Landlock restricts none of them.

These are new and connected sockets, of networks and of services on this machine; memory, semaphores
and queues shared by number or name; and changes of files' owners, permissions and attributes.
Sockets that are open already, and pairs of sockets that can reach nothing else, can be used.
Sources: https://docs.kernel.org/userspace-api/seccomp_filter.html, and the kernel's tables of calls
arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

EVERYWHERE: Mapping[str, int] = {
    "io_uring_setup": 425,
    "fchmodat2": 452,
    "setxattrat": 463,
    "removexattrat": 466,
}
"""Calls with the same number on every architecture."""


@dataclass(frozen=True)
class Architecture:
    """A machine, as the kernel numbers it and its system calls."""

    number: int
    socketpair: int
    refused: Mapping[str, int]


ARCHITECTURES: Mapping[str, Architecture] = {
    "x86_64": Architecture(
        0xC000003E,
        53,
        {
            **{"socket": 41, "connect": 42},
            **{"shmget": 29, "shmat": 30, "shmctl": 31},
            **{"semget": 64, "semop": 65, "semtimedop": 220, "semctl": 66},
            **{"msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71},
            **{"mq_open": 240, "mq_unlink": 241},
            **{"chmod": 90, "fchmod": 91, "fchmodat": 268},
            **{"chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260},
            **{"setxattr": 188, "lsetxattr": 189, "fsetxattr": 190},
            **{"removexattr": 197, "lremovexattr": 198, "fremovexattr": 199},
            **EVERYWHERE,
        },
    ),
    "aarch64": Architecture(
        0xC00000B7,
        199,
        {
            **{"socket": 198, "connect": 203},
            **{"shmget": 194, "shmat": 196, "shmctl": 195},
            **{"semget": 190, "semop": 193, "semtimedop": 192, "semctl": 191},
            **{"msgget": 186, "msgsnd": 189, "msgrcv": 188, "msgctl": 187},
            **{"mq_open": 180, "mq_unlink": 181},
            **{"fchmod": 52, "fchmodat": 53},
            **{"fchown": 55, "fchownat": 54},
            **{"setxattr": 5, "lsetxattr": 6, "fsetxattr": 7},
            **{"removexattr": 14, "lremovexattr": 15, "fremovexattr": 16},
            **EVERYWHERE,
        },
    ),
}
"""Machine → its numbers. `io_uring` opens and connects sockets without the calls for that; an
access list, which gives permissions, is one of the attributes of a file."""

X32 = 0x40000000
"""System calls from this number on are those of another interface of x86_64."""

PR_GET_SECCOMP, PR_SET_SECCOMP, FILTER = 21, 22, 2

LOAD, AND, EQUAL, AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
"""Instructions of the classic Berkeley packet filter."""

NUMBER, ARCHITECTURE, SECOND_ARGUMENT = 0, 4, 24
"""Offsets in `struct seccomp_data`; of the argument, the lower half on these architectures."""

STREAM, PACKETS = 1, 5
"""Kinds of sockets that reach only the socket with which they were connected."""

KINDS = 0xF
"""The part of a socket's type that is its kind; the rest are flags."""

ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EACCES


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def is_available() -> bool:
    """Return whether system calls can be filtered here."""
    known = platform.machine() in ARCHITECTURES
    return known and ctypes.CDLL(None).prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0


def restrict() -> None:
    """Refuse the calls to this thread, and to the threads and processes that it starts.

    They raise PermissionError. The process must have given up new privileges. Raises OSError.
    """
    instructions = _instructions(ARCHITECTURES[platform.machine()])
    program = _Program(len(instructions), b"".join(instructions))
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _instructions(machine: Architecture) -> list[bytes]:
    """Return the filter. A jump skips as many instructions if true, or if false."""
    allow, refuse = _instruction(RETURN, 0, 0, ALLOW), _instruction(RETURN, 0, 0, REFUSE)
    return [
        _instruction(LOAD, 0, 0, ARCHITECTURE),
        _instruction(EQUAL, 1, 0, machine.number),
        refuse,
        _instruction(LOAD, 0, 0, NUMBER),
        _instruction(AT_LEAST, 0, 1, X32),
        refuse,
        *chain.from_iterable(
            (_instruction(EQUAL, 0, 1, number), refuse) for number in machine.refused.values()
        ),
        _instruction(EQUAL, 1, 0, machine.socketpair),
        allow,
        _instruction(LOAD, 0, 0, SECOND_ARGUMENT),
        _instruction(AND, 0, 0, KINDS),
        _instruction(EQUAL, 2, 0, STREAM),
        _instruction(EQUAL, 1, 0, PACKETS),
        refuse,
        allow,
    ]


def _instruction(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
