"""Run a driver's share of a plan, storing each result as soon as it is available."""

from collections.abc import Callable
from contextlib import closing
from typing import Protocol, runtime_checkable

from bnnbench.commands.planning.share import Audience, Share
from bnnbench.engine.declare.grid import Suite
from bnnbench.engine.run.outcomes import lost
from bnnbench.engine.run.task import RunResult, Task
from bnnbench.engine.store.data_points.curves import keep_curves
from bnnbench.engine.store.data_points.planes import keep_planes
from bnnbench.engine.store.rescoring.added import Skip, raise_it
from bnnbench.engine.store.rescoring.distances import add_distances
from bnnbench.engine.store.store import Store
from bnnbench.engine.store.tables import write_tables
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


def complete(
    suite: Suite,
    store: Store,
    progress: Callable[[str], None],
    tell: Callable[[str], None],
    skip: Skip = raise_it,
) -> None:
    """Add to a store what is computed from all its runs: distances, curves and tables.

    Warnings are passed to `tell`, lines on progress to `progress`, and damage to `skip`.
    """
    for line in add_distances(suite, store, progress, skip):
        tell(line)
    keep_curves(suite, store)
    keep_planes(suite, store)
    write_tables(store)
