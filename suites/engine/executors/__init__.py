"""Where tasks are carried out: one file per place, all with the same face."""

import importlib.util
import os
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

import threadpoolctl
import torch

from suites.engine import memory
from suites.engine.execute import Outcome, Task

EXECUTORS: Mapping[str, str] = {
    "serial": "suites.engine.executors.serial:Serial",
    "processes": "suites.engine.executors.processes:Processes",
    "ray": "suites.engine.executors.ray:Ray",
    "slurm": "suites.engine.executors.slurm:Slurm",
}

NEEDS: Mapping[str, str] = {"ray": "ray", "slurm": "submitit"}
"""The package that an executor needs; the extra of this project has the executor's name."""

PAUSE_SECONDS = 0.5
"""How long to wait before asking again where other drivers have all tasks that are left."""


class Unusable(RuntimeError):
    """An executor cannot work here; says why, and the cure."""


@dataclass(frozen=True)
class Limits:
    """What one run may take."""

    seconds: float | None = None
    """Runs that are fitted together may take as many times this."""
    bytes: int | None = None
    """Resident memory of the worker, libraries included."""

    def __bool__(self) -> bool:
        return self.seconds is not None or self.bytes is not None


@dataclass(frozen=True)
class Settings:
    """How many workers there are, what one gets, and where."""

    workers: int = 1
    limits: Limits = field(default=Limits())
    gpus: float = 0.0
    """Of each worker; Ray shares one among several where this is a fraction."""
    address: str | None = None
    """Of a Ray cluster; "local" has Slurm's jobs carried out on this machine."""
    partition: str | None = None
    """Of Slurm."""
    minutes: int = 240
    """How long one of Slurm's jobs may take; it is then put into the queue again."""
    folder: Path = field(default=Path(".jobs"))
    """Of files of Slurm's jobs, on a disk that they share with the driver; removed in the end."""
    pulse: Path | None = None
    """On that disk too: what the driver renews while it lives. Jobs end when it does."""


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


def lacks(name: str) -> str | None:
    """Return what to install before the executor of that name can be used, or None."""
    package = NEEDS.get(name)
    if package is None or importlib.util.find_spec(package):
        return None
    return f"needs the package {package}: pip install 'bnnbench[{name}]'"


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
