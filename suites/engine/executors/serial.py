"""One task after the other, in this process."""

import functools
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from suites.engine.execute import Task, execute
from suites.engine.executors import Result, Watcher, prepare_process


@dataclass(frozen=True)
class Serial:
    """Carries out tasks in order; whatever kills one kills the suite."""

    workers: int = 1

    def map(self, tasks: Sequence[Task], watcher: Watcher) -> Generator[Result, None, None]:
        """Return the result of every task, in order."""
        prepare_process()
        for task in tasks:
            watcher.started(task)
            yield task, execute(task, functools.partial(watcher.progressed, task))
