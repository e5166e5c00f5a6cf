"""The interface of executors, and the task queue that they share."""

import importlib
import os
from collections import Counter, deque
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

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


def prepare_small_fits() -> None:
    """Make this process compute on one thread, unless OMP_NUM_THREADS says otherwise.

    Threads of tiny fits only wait for each other.
    """
    if "OMP_NUM_THREADS" not in os.environ:
        prepare_process()


ATTEMPTS = 2
"""Maximum number of attempts at a run whose process dies; each has a fresh process."""

MOVES = 10
"""Maximum number of moves to another worker after a machine or its data server is lost."""

Termination = tuple[str, Any]
"""done: outcomes. error: an exception. The others have a `Lost`. died: a process ended or used too
much memory. stopped: it ran too long, or wrote to its data. gone: the machine or the data server
was lost, which is not the task's fault."""


@dataclass(frozen=True)
class Attempt:
    """An attempt at a task, counted from 1."""

    task: Task
    number: int = 1


class RetryQueue:
    """The tasks to be run, and their terminations.

    None among the tasks means that there is none at present.
    """

    def __init__(self, tasks: Iterable[Task | None], watcher: Watcher) -> None:
        self._tasks = iter(tasks)
        self._retries: deque[Attempt] = deque()
        self._moves: Counter[Attempt] = Counter()
        self._watcher = watcher
        self._over = False

    @property
    def over(self) -> bool:
        """True if no attempt is left, unless a running task is lost."""
        return self._over and not self._retries

    def next(self) -> Attempt | None:
        """Return the next attempt; None if there is none at present."""
        if self._retries:
            return self._retries.popleft()
        try:
            task = next(self._tasks)
        except StopIteration:
            self._over = True
            return None
        return task and Attempt(task)

    def complete_or_requeue(self, attempt: Attempt, termination: Termination) -> list[Result]:
        """Return the result of an attempt, or none if its task is requeued; raise its error."""
        event, content = termination
        if event == "error":
            raise content
        if event == "done":
            return [(attempt.task, content)]
        retry = {"died": self._once_more, "stopped": _never, "gone": self._on_another_worker}[event]
        if plan := retry(attempt):
            self._watcher.lost(attempt.task, f"{content.reason}; {plan}")
            return []
        return [(attempt.task, content)]

    def _once_more(self, attempt: Attempt) -> str | None:
        """Requeue the runs one by one, so that only the run that kills its process is lost."""
        if attempt.number >= ATTEMPTS:
            return None
        single_runs = [
            Attempt(replace(attempt.task, runs=(r,)), attempt.number + 1) for r in attempt.task.runs
        ]
        self._retries.extendleft(reversed(single_runs))
        return "trying its runs one by one" if len(single_runs) > 1 else "trying once more"

    def _on_another_worker(self, attempt: Attempt) -> str | None:
        self._moves[attempt] += 1
        if self._moves[attempt] > MOVES:
            return None
        self._retries.appendleft(attempt)
        return "trying elsewhere"


def _never(attempt: Attempt) -> None:
    """Return None: such a run would end the same way again."""
