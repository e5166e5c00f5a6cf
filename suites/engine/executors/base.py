"""What every executor does with tasks, and what it tells of them."""

import importlib
import os
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import threadpoolctl
import torch

from bnnbench.suites.engine.executors import EXECUTORS, Settings
from bnnbench.suites.engine.run import memory
from bnnbench.suites.engine.run.execute import Outcome, Task

PAUSE_SECONDS = 0.5
"""How long to wait before asking again where other drivers have all tasks that are left."""


class ExecutorUnavailable(RuntimeError):
    """An executor cannot work here; says why, and the cure."""


@dataclass(frozen=True)
class Lost:
    """What is left of a task whose process died or was stopped: the reason."""

    reason: str


Result = tuple[Task, list[Outcome] | Lost]


@runtime_checkable
class Watcher(Protocol):
    """Whoever wants to know how far the tasks are."""

    def started(self, task: Task) -> None: ...

    def progressed(self, task: Task, done: int, total: int, loss: float) -> None: ...

    def lost(self, task: Task, reason: str) -> None:
        """Hear that a task's process died, and how it goes on; the task itself starts no more."""
        ...


@runtime_checkable
class Executor(Protocol):
    """Carries out tasks, wherever that is."""

    def map(self, tasks: Iterable[Task | None], watcher: Watcher) -> Generator[Result, None, None]:
        """Return the result of every task, in the order in which they finish.

        A task is asked for when there is a place for it; None says that there is none just
        now, and to ask again. A task that is lost comes back as one result for each run.
        Errors of the engine or of a data source are raised; closing the iterator stops
        what still runs.
        """
        ...


def executor(name: str, settings: Settings) -> Executor:
    """Return the executor of that name."""
    module, _, kind = EXECUTORS[name].partition(":")
    return getattr(importlib.import_module(module), kind)(settings)


def prepare_process() -> None:
    """Compute on one thread from here on, and keep freed memory.

    Sums then have one order, wherever a run is done.
    """
    os.environ["OMP_NUM_THREADS"] = "1"  # for libraries and processes that start later
    torch.set_num_threads(1)
    threadpoolctl.threadpool_limits(1)
    memory.keep_freed()
