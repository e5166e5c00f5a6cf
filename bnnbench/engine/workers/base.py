"""The interface of executors, and the events that they report."""

import importlib
import os
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import threadpoolctl
import torch

from bnnbench.engine.declare.grid import Run
from bnnbench.engine.run.measuring import memory
from bnnbench.engine.run.task import RunResult, Task
from bnnbench.engine.workers import EXECUTORS, Settings

PAUSE_SECONDS = 0.5
"""Pause before asking again for a task while other drivers hold all remaining tasks."""


class ExecutorUnavailable(RuntimeError):
    """An executor cannot work here; the message names the reason and the remedy."""


@dataclass(frozen=True)
class Lost:
    """The reason why a task's process died or was stopped."""

    reason: str
    place: str | None = None
    """File, line and function of a fatal error."""


def device_failed(error: torch.AcceleratorError) -> Lost:
    """Return the loss of a task after an error that leaves the device unusable for its process.

    A device reports such errors late, so no line of a method is named.
    """
    return Lost(f"the device failed: {str(error).splitlines()[0]}")


Result = tuple[Task, list[RunResult] | Lost]


@runtime_checkable
class Watcher(Protocol):
    """A display of the progress of tasks."""

    def started(self, task: Task) -> None: ...

    def progressed(self, task: Task, done: int, total: int, loss: float) -> None: ...

    def lost(self, task: Task, reason: str) -> None:
        """Report that a task's process died, and how its runs continue as other tasks."""
        ...

    def note(self, line: str) -> None:
        """Report overall progress, such as a wait for machines."""
        ...


class Silent:
    """Shows nothing, for jobs that nobody watches."""

    def started(self, task: Task) -> None: ...

    def progressed(self, task: Task, done: int, total: int, loss: float) -> None: ...

    def lost(self, task: Task, reason: str) -> None: ...

    def note(self, line: str) -> None: ...

    def passed_over(self, runs: Sequence[Run]) -> None: ...

    def finished(self, task: Task, outcomes: list[RunResult]) -> None: ...


@runtime_checkable
class Executor(Protocol):
    """Runs tasks on some kind of worker."""

    def map(self, tasks: Iterable[Task | None], watcher: Watcher) -> Generator[Result, None, None]:
        """Return the result of every task, in the order in which they finish.

        A task is requested when a worker is free; None means that there is none at present, so ask
        again. A lost task comes back as one result for each run. Errors of the engine or of a data
        source are raised; closing the iterator stops the running tasks.
        """
        ...


def executor(name: str, settings: Settings) -> Executor:
    """Return the executor of that name."""
    module, _, class_name = EXECUTORS[name].partition(":")
    return getattr(importlib.import_module(module), class_name)(settings)


def prepare_process() -> None:
    """Make this process compute on one thread, and retain freed memory.

    Sums then have the same order wherever a run is done.
    """
    os.environ["OMP_NUM_THREADS"] = "1"  # for libraries and processes that start later
    torch.set_num_threads(1)
    threadpoolctl.threadpool_limits(1)
    memory.keep_freed()
