"""Where tasks are carried out: one file per place, all with the same face."""

import importlib
import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import threadpoolctl
import torch

from suites.engine import memory
from suites.engine.execute import Outcome, Task

EXECUTORS: Mapping[str, str] = {
    "serial": "suites.engine.executors.serial:Serial",
    "processes": "suites.engine.executors.processes:Processes",
}


@dataclass(frozen=True)
class Lost:
    """What is left of a task whose process died: the reason."""

    reason: str


Result = tuple[Task, list[Outcome] | Lost]


@runtime_checkable
class Watcher(Protocol):
    """Whoever wants to know how far the tasks are."""

    def started(self, task: Task) -> None: ...

    def progressed(self, task: Task, done: int, total: int, loss: float) -> None: ...

    def lost(self, task: Task, reason: str) -> None:
        """Hear that a task's process died and that the task starts again."""
        ...


@runtime_checkable
class Executor(Protocol):
    """Carries out tasks, wherever that is."""

    def map(self, tasks: Sequence[Task], watcher: Watcher) -> Generator[Result, None, None]:
        """Return the result of every task, in the order in which they finish.

        Errors of the engine or of a data source are raised; closing the iterator stops
        what still runs.
        """
        ...


def executor(name: str, workers: int) -> Executor:
    """Return the executor of that name."""
    module, _, kind = EXECUTORS[name].partition(":")
    return getattr(importlib.import_module(module), kind)(workers)


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def prepare_process() -> None:
    """Compute on one thread from here on, and keep freed memory.

    Sums then have one order, wherever a run is done.
    """
    os.environ["OMP_NUM_THREADS"] = "1"  # for libraries and processes that start later
    torch.set_num_threads(1)
    threadpoolctl.threadpool_limits(1)
    memory.keep_freed()
