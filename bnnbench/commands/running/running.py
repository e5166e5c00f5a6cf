"""Run a driver's share of a plan, storing each result as soon as it is available.

Calls from Python show a progress bar, and leave the settings of their process unchanged.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Protocol, runtime_checkable

import threadpoolctl
import torch
from tqdm import tqdm

from bnnbench.commands.planning.share import Audience, Share
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.declare.grid import Run, Suite
from bnnbench.engine.run.outcomes import lost
from bnnbench.engine.run.task import RunResult, Task
from bnnbench.engine.store.data_points import keep_curves, keep_planes
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


@contextmanager
def process_unchanged() -> Iterator[None]:
    """Restore environment variables and numbers of threads at the end of the block."""
    environment, threads = dict(os.environ), torch.get_num_threads()
    libraries = threadpoolctl.ThreadpoolController().lib_controllers
    threads_of_each = [library.num_threads for library in libraries]
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(environment)
        for library, number in zip(libraries, threads_of_each, strict=True):
            library.set_num_threads(number)
        torch.set_num_threads(threads)


class Bar:
    """Counts finished runs, and shows the latest task and how many runs ended otherwise."""

    def __init__(self, title: str, runs: int) -> None:
        self._bar = tqdm(total=runs, desc=title, unit="run")
        self._statuses: Counter[str] = Counter()

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def started(self, task: Task) -> None:
        """Show the task."""
        self._show(task.name)

    def progressed(self, task: Task, done: int, total: int, loss: float) -> None:
        """Show the task's epoch."""
        self._show(f"{task.name}, epoch {done} of {total}")

    def lost(self, task: Task, reason: str) -> None:
        """Print how the runs of a lost process continue."""
        self.note(f"{task.name}: {reason}")

    def passed_over(self, runs: Sequence[Run]) -> None:
        """Count runs that this call does not do."""
        self._bar.update(len(runs))

    def finished(self, task: Task, outcomes: list[RunResult]) -> None:
        """Count the task's runs."""
        self._statuses.update(outcome.record.outcome.status for outcome in outcomes)
        self._bar.update(len(task.runs))
        self._show(task.name)

    def note(self, line: str) -> None:
        """Print a line above the bar."""
        self._bar.write(legible(line), file=self._bar.fp)

    def _show(self, text: str) -> None:
        others = [f"{n} {name}" for name, n in self._statuses.items() if name != "completed"]
        self._bar.set_postfix_str(", ".join([legible(text), *others]), refresh=False)
