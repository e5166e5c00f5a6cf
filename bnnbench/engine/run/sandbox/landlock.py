"""Access of a process to files, restricted by Linux's Landlock.

A process that restricts itself gives up all access to the file system but that granted here, for
itself and the processes that it starts, and cannot take it back. It can then also mount nothing,
and inspect no process outside.
Source: https://docs.kernel.org/userspace-api/landlock.html
"""

import ctypes
import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Numbers of the system calls, the same on every architecture."""

VERSION = 1
"""Flag of the first call to return the version of the interface."""

PATH_BENEATH = 1
"""Kind of a rule: access to a file, or to a folder and all below it."""

NEEDED, SCOPES = 3, 6
"""Versions that can forbid truncation, and signals to processes outside."""

EXECUTE, WRITE, READ, LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE = 1 << 14
ALL = (1 << 15) - 1
"""All access to files and folders that version 3 restricts."""

OF_FILES = EXECUTE | WRITE | READ | TRUNCATE
"""The access that a rule on a file may grant."""

SIGNALS = 1 << 1


class _Ruleset(ctypes.Structure):
    """`struct landlock_ruleset_attr`; earlier versions end before later members."""

    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Rule(ctypes.Structure):
    """`struct landlock_path_beneath_attr`."""

    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """Return the version of Landlock's interface in this kernel. Raises OSError."""
    return _call(CREATE_RULESET, None, 0, VERSION)


def restrict(granted: Iterable[tuple[Path, int]]) -> None:
    """Restrict this thread to the granted access: paths and flags. Raises OSError.

    The process must have given up new privileges. Threads that exist already are not restricted.
    Paths that do not exist are ignored.
    """
    rules = _Ruleset(ALL, 0, SIGNALS)
    size = ctypes.sizeof(rules) if version() >= SCOPES else _Ruleset.net.offset
    ruleset = _call(CREATE_RULESET, ctypes.byref(rules), size, 0)
    try:
        for path, access in granted:
            _grant(ruleset, path, access)
        _call(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _grant(ruleset: int, path: Path, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):
            return
        raise
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            access &= OF_FILES
        rule = _Rule(access, descriptor)
        _call(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: object) -> int:
    """Return the result of a system call. Raises OSError."""
    values = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *values)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
