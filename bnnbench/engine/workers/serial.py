"""One task after the other in this process; those of third-party methods in a separate one.

After a third-party method has changed results in this process, all tasks run in another one. So
does a retry after an error that left the device unusable.
"""

import functools
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass

from torch import AcceleratorError

from bnnbench.engine.declare.third_party import has_third_party_code
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.guards import canary
from bnnbench.engine.run.task import Task
from bnnbench.engine.workers import Limits, Settings
from bnnbench.engine.workers.base import (
    PAUSE_SECONDS,
    Result,
    Watcher,
    device_failed,
    prepare_process,
)
from bnnbench.engine.workers.retry_queue import Attempt, RetryQueue, Termination
from bnnbench.engine.workers.worker import Worker


@dataclass(frozen=True)
class Serial:
    """Runs tasks in order. A fatal error ends the whole suite, so there are no limits."""

    settings: Settings

    def __post_init__(self) -> None:
        if self.settings.limits:
            raise ValueError(
                "the serial executor has no limits, because a process cannot stop itself"
            )

    def map(self, tasks: Iterable[Task | None], watcher: Watcher) -> Generator[Result, None, None]:
        """Return the result of every task, in order."""
        prepare_process()
        canary.expected()
        queue, worker = RetryQueue(tasks, watcher), Worker(Limits())
        try:
            while True:
                if attempt := queue.next():
                    watcher.started(attempt.task)
                    yield from queue.complete_or_requeue(
                        attempt, self._termination(attempt, worker, watcher)
                    )
                elif queue.over:
                    return
                else:
                    time.sleep(PAUSE_SECONDS)
        finally:
            worker.terminate()
            worker.dismiss()

    def _termination(self, attempt: Attempt, worker: Worker, watcher: Watcher) -> Termination:
        """Run a task in the right process, and return its termination."""
        listener = functools.partial(watcher.progressed, attempt.task)
        isolated = self.settings.isolate and has_third_party_code(attempt.task.runs[0])
        if not (isolated or canary.has_process_changed() or attempt.number > 1):
            try:
                return "done", execute(attempt.task, listener)
            except AcceleratorError as error:
                return "died", device_failed(error)
        for event, content in worker.messages(attempt.task):
            if event != "progress":
                return event, content
            listener(*content)
        raise AssertionError("every task has a termination")
