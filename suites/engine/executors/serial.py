"""One task after the other, in this process."""

import functools
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass

from bnnbench.suites.engine.executors import Settings
from bnnbench.suites.engine.executors.base import PAUSE_SECONDS, Result, Watcher, prepare_process
from bnnbench.suites.engine.run.execute import Task, execute


@dataclass(frozen=True)
class Serial:
    """Carries out tasks in order. Whatever kills one kills the suite, so there are no limits."""

    settings: Settings

    def __post_init__(self) -> None:
        if self.settings.limits:
            raise ValueError("the serial executor has no limits, as a process cannot stop itself")

    def map(self, tasks: Iterable[Task | None], watcher: Watcher) -> Generator[Result, None, None]:
        """Return the result of every task, in order."""
        prepare_process()
        for task in tasks:
            if task is None:
                time.sleep(PAUSE_SECONDS)
                continue
            watcher.started(task)
            yield task, execute(task, functools.partial(watcher.progressed, task))
