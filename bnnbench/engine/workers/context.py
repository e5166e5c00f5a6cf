"""Start worker processes."""

import multiprocessing
import signal
import sys
from collections.abc import Callable
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from typing import Any

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
