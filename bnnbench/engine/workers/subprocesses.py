"""Process trees: their leaders, members, memory and end."""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

PR_SET_CHILD_SUBREAPER = 36
"""Option of Linux's prctl to adopt orphans."""


def become_group_leader() -> None:
    """Make this process the leader of a session, and the adopter of its descendants' orphans."""
    os.setsid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def descendants(leader: int) -> "list[psutil.Process]":
    """Return all direct and indirect child processes of a process."""
    import psutil

    with suppress(psutil.Error):
        return psutil.Process(leader).children(recursive=True)
    return []


def memory(leader: int) -> float:
    """Return the resident bytes of a process and its descendants, counting shared memory once.

    Returns 0 if the process has no descendants or cannot be inspected.
    """
    import psutil

    if not (others := descendants(leader)):
        return 0.0
    total = 0.0
    with suppress(psutil.Error):
        total += _share(psutil.Process(leader))
    for process in others:
        with suppress(psutil.Error):
            total += _share(process)
    return total


def end(leader: int, others: "list[psutil.Process]") -> None:
    """Kill a process tree, the leader's session and the `others` that left it, without waiting.

    A leader that has ended may have left members of its session. The session comes last, since
    this process may be its leader.
    """
    import psutil

    for process in others:
        with suppress(psutil.Error):
            process.kill()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _share(process: "psutil.Process") -> float:
    """Return a process's bytes, with its share of shared memory if the system reports it."""
    info = process.memory_full_info()
    return float(getattr(info, "pss", info.uss))
