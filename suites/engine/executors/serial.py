"""One task after the other, in this process; those of foreign methods in one of their own."""

import functools
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass

from bnnbench.suites.engine.executors import Limits, Settings
from bnnbench.suites.engine.executors.base import PAUSE_SECONDS, Result, Watcher, prepare_process
from bnnbench.suites.engine.executors.foreign import is_foreign
from bnnbench.suites.engine.executors.turns import Ending, Turn, Turns
from bnnbench.suites.engine.executors.worker import Worker
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
        turns = Turns(tasks, watcher)
        while True:
            turn = turns.next()
            if turn is None and turns.over:
                return
            if turn is None:
                time.sleep(PAUSE_SECONDS)
                continue
            watcher.started(turn.task)
            if self.settings.isolate and is_foreign(turn.task.runs[0].method):
                yield from turns.settle(turn, _apart(turn, watcher))
            else:
                listener = functools.partial(watcher.progressed, turn.task)
                yield turn.task, execute(turn.task, listener)


def _apart(turn: Turn, watcher: Watcher) -> Ending:
    """Carry out a task in a process of its own, and return its ending."""
    worker = Worker(Limits())
    try:
        for event, content in worker.messages(turn.task):
            if event != "progress":
                return event, content
            watcher.progressed(turn.task, *content)
    except BaseException:
        worker.terminate()
        raise
    finally:
        worker.dismiss()
    raise AssertionError("a task has an ending")
