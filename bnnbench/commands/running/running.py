"""Run a driver's share of a plan, storing each result as soon as it is available."""

from contextlib import closing
from typing import Protocol, runtime_checkable

from bnnbench.commands.planning.share import Audience, Share
from bnnbench.engine.run.outcomes import lost
from bnnbench.engine.run.task import RunResult, Task
from bnnbench.engine.workers.base import Executor, Lost, Watcher


@runtime_checkable
class Display(Watcher, Audience, Protocol):
    """Shows the progress of tasks, and how each ended."""

    def finished(self, task: Task, outcomes: list[RunResult]) -> None: ...


def carry_out(share: Share, executor: Executor, display: Display) -> None:
    """Run the tasks that this driver has leased, and store their outcomes."""
    with closing(executor.map(share.tasks(), display)) as results:
        for task, result in results:
            outcomes = (
                lost(task, result.reason, result.place) if isinstance(result, Lost) else result
            )
            share.keep(outcomes)
            display.finished(task, outcomes)
