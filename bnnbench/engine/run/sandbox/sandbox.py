"""A sandbox for a process that is to run third-party code."""

import ctypes
import errno
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bnnbench.engine.run.sandbox import landlock, seccomp
from bnnbench.engine.run.sandbox.readable import devices, search_path, whole_folders
from bnnbench.methods import own_files

PREFIX = "bnnbench-sandbox-"
"""Beginning of the names of temporary folders."""

HOME = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
"""Environment variables of folders that libraries write to."""

ENABLE = "add landlock to the kernel's parameter lsm="


class SandboxUnavailable(RuntimeError):
    """This system cannot confine a process; the message names the reason and the remedy."""


@dataclass(frozen=True)
class Sandbox:
    """The files that processes with third-party code may read and write."""

    hidden: tuple[str, ...] = ()
    """Absolute paths of data and results, unreadable even if they are next to the method's file."""
    readable: tuple[str, ...] = ()
    """Further absolute paths to be read, such as files of weights."""
    folder: str = ""
    """The folder of one process, the only one that it can write to."""

    def with_readable(self, paths: Iterable[str | Path]) -> "Sandbox":
        """Return the sandbox with further paths to be read."""
        absolute = (str(Path(path).absolute()) for path in paths)
        return replace(self, readable=(*self.readable, *absolute))

    def confine(self) -> None:
        """Confine this process for good: no other files, no new socket, no shared memory.

        It must have a single thread, and is to import third-party code only afterwards. Raises
        `SandboxUnavailable`.
        """
        if reason := lacking():
            raise SandboxUnavailable(reason)
        _move_to(self.folder)
        try:
            give_up()
            landlock.restrict(self._granted())
            seccomp.restrict()
        except OSError as error:
            raise SandboxUnavailable(f"the process could not be confined: {error}") from error

    def _granted(self) -> Iterator[tuple[Path, int]]:
        """Yield paths and the access to them."""
        hidden = [Path(path).resolve() for path in self.hidden]
        read = landlock.READ | landlock.LIST
        yield Path(self.folder), landlock.ALL
        for path in devices():
            yield path, read | landlock.WRITE
        for path in (*whole_folders(hidden), *map(Path, self.readable)):
            yield path, read | landlock.EXECUTE
        for path in (*search_path(), *map(Path, own_files.folders())):
            yield path, landlock.LIST  # Python lists them to find modules


def lacking() -> str | None:
    """Return why no process can be confined here, and the remedy; None if it can."""
    if sys.platform != "linux":
        return "needs Linux, which can confine a process"
    try:
        version = landlock.version()
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return f"Landlock is switched off on this machine: {ENABLE}, and start it again"
        return (
            f"this system has no Landlock ({error.strerror}): it needs Linux 6.2 or newer with "
            "Landlock, and in a container one whose seccomp profile allows landlock_* calls"
        )
    if version < landlock.NEEDED:
        return f"Landlock {version} cannot forbid that files are truncated: needs Linux 6.2"
    if not seccomp.is_available():
        return "system calls cannot be filtered: needs seccomp, on x86_64 or aarch64"
    return None


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for one confined process, removed with all that it wrote."""
    return tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)


def _move_to(folder: str) -> None:
    """Let libraries of this process write to a folder."""
    os.environ.update(dict.fromkeys(HOME, folder))
    tempfile.tempdir = folder
    process = multiprocessing.current_process()
    process._config.pop("tempdir", None)  # pyright: ignore[reportAttributeAccessIssue]


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
