"""A process and all that it started: their memory, and their end."""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

PR_SET_CHILD_SUBREAPER = 36
"""The option of Linux's prctl that adopts orphans."""


def become_head() -> None:
    """Make this process the head of a family: of a session, and of its descendants' orphans."""
    os.setsid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def descendants(head: int) -> "list[psutil.Process]":
    """Return all processes that a process started, and those started by them."""
    import psutil

    with suppress(psutil.Error):
        return psutil.Process(head).children(recursive=True)
    return []


def memory(head: int) -> float:
    """Return the resident bytes of a process and its descendants; what they share counts once.

    They are 0 where the process has no descendants, or cannot be looked at.
    """
    import psutil

    if not (others := descendants(head)):
        return 0.0
    total = 0.0
    with suppress(psutil.Error):
        total += _share(psutil.Process(head))
    for process in others:
        with suppress(psutil.Error):
            total += _share(process)
    return total


def end(head: int, others: "list[psutil.Process]") -> None:
    """Kill a family, the head's session and the `others` that left it, and wait for nobody.

    A head that has ended may have left members of its session. The session comes last, since this
    process may be its head.
    """
    import psutil

    for process in others:
        with suppress(psutil.Error):
            process.kill()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(head, signal.SIGKILL)


def _share(process: "psutil.Process") -> float:
    """Return a process's bytes, of shared ones its share where the system knows it."""
    info = process.memory_full_info()
    return float(getattr(info, "pss", info.uss))
