"""Privileges of a process, given up for good: with some, it could read other processes' memory."""

import ctypes
import os

PR_SET_NO_NEW_PRIVS = 38

CAPABILITIES = 0x20080522
"""Version 3 of `struct __user_cap_header_struct`."""


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def give_up() -> None:
    """Give up all capabilities of this thread, and those of files that it runs. Raises OSError.

    Without root's permissions there are none to give up.
    """
    library = ctypes.CDLL(None, use_errno=True)
    _check(library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    none = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; of 64 bits
    _check(library.capset(ctypes.byref(_Header(CAPABILITIES, 0)), none))


def _check(result: int) -> None:
    if result:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
