"""Child processes: how they start, and end with their descendants."""

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any

from bnnbench.methods import own_files

if TYPE_CHECKING:
    import psutil

CONTEXT: Any = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
"""On Linux, workers are forked in milliseconds from a process with the imports they need."""

_LOOKED_UP = "bnnbench.engine.workers.forked"

_SLOW_TO_IMPORT = ("sklearn.datasets", "scipy.stats", "pandas", "numba")

_DRIVERS_OWN = {signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2}
"""Signals from a terminal or a scheduler to all processes, which only the driver handles."""


def started(target: Callable[..., None], *arguments: object, daemon: bool = False) -> BaseProcess:
    """Return a process that calls `target` and ignores signals meant for the driver.

    A daemon ends with the driver, and can start no process.
    """
    if sys.platform == "linux":
        CONTEXT.set_forkserver_preload(_preloaded(target))
    process = CONTEXT.Process(target=target, args=arguments, daemon=daemon)
    resource_tracker.ensure_running()  # with the first worker, it would unblock signals
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _DRIVERS_OWN)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    return process


def _preloaded(target: Callable[..., None]) -> list[str]:
    """Return the modules imported by this process that every worker would import again."""
    imported = [name for name in sys.modules if name.startswith("bnnbench.")]
    return [
        _LOOKED_UP,
        target.__module__,
        *imported,
        *(name for name in _SLOW_TO_IMPORT if name in sys.modules),
    ]


def adopt(environment: Mapping[str, str]) -> None:
    """Adopt the driver's environment, which is newer than the one this process inherited."""
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)
    own_files.search_folders()


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
