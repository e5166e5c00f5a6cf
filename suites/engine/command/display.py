"""Progress of a suite, as bars on a terminal or as plain lines."""

import time
from collections.abc import Callable

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.progress import TimeRemainingColumn as TimeLeft

from bnnbench.datasets.reading.foreign_text import legible
from bnnbench.suites.engine.run.execute import Outcome, Task

SECONDS_BETWEEN_LINES = 10.0


class Live:
    """A bar for each running task and one for all runs, with the remaining time."""

    def __init__(self, console: Console, runs: int) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeLeft(compact=True),
            console=console,
            transient=True,
        )
        self._all = self._progress.add_task("[bold]all runs", total=runs, state="")
        self._bars: dict[int, TaskID] = {}
        self._console = console

    def __enter__(self) -> "Live":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def started(self, task: Task) -> None:
        """Show a new bar."""
        name = escape(legible(task.name))
        self._bars[id(task)] = self._progress.add_task(name, total=None, state="")

    def progressed(self, task: Task, done: int, total: int, loss: float) -> None:
        """Move the task's bar to `done` of `total` epochs."""
        bar = self._bars[id(task)]
        self._progress.update(bar, completed=done, total=total, state=f"loss {loss:.4g}")

    def lost(self, task: Task, reason: str) -> None:
        """Report that a worker was lost and how the task continues."""
        self._progress.remove_task(self._bars.pop(id(task)))
        self._console.print(f"[yellow]{escape(legible(f'{task.name}: {reason}'))}")

    def passed_over(self, runs: int) -> None:
        """Count runs that this driver does not carry out."""
        self._progress.advance(self._all, runs)

    def note(self, line: str) -> None:
        """Print a line on the course of the whole."""
        self._console.print(legible(line), markup=False, highlight=False)

    def finished(self, task: Task, outcomes: list[Outcome]) -> None:
        """Remove the task's bar and report how it ended."""
        if (bar := self._bars.pop(id(task), None)) is not None:
            self._progress.remove_task(bar)
        self._progress.advance(self._all, len(task.runs))
        self._console.print(legible(_ending(task, outcomes)), markup=False, highlight=False)


class Lines:
    """A line for every finished task, and at intervals for those that run."""

    def __init__(
        self, console: Console, runs: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console, self._runs, self._done = console, runs, 0
        self._clock, self._latest = clock, clock()

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None: ...

    def started(self, task: Task) -> None:
        """Print nothing; most tasks end soon."""

    def progressed(self, task: Task, done: int, total: int, loss: float) -> None:
        """Report the epoch, unless a line was printed in the last seconds."""
        if self._clock() - self._latest >= SECONDS_BETWEEN_LINES:
            self._say(f"{task.name}: epoch {done} of {total}, loss {loss:.4g}")

    def lost(self, task: Task, reason: str) -> None:
        """Report that a worker was lost and how the task continues."""
        self._say(f"{task.name}: {reason}")

    def passed_over(self, runs: int) -> None:
        """Count runs that this driver does not carry out."""
        self._done += runs

    def note(self, line: str) -> None:
        """Print a line on the course of the whole."""
        self._say(line)

    def finished(self, task: Task, outcomes: list[Outcome]) -> None:
        """Report how the task ended and how many runs are done."""
        self._done += len(task.runs)
        self._say(f"[{self._done}/{self._runs}] {_ending(task, outcomes)}")

    def _say(self, line: str) -> None:
        self._latest = self._clock()
        self._console.print(legible(line), markup=False, highlight=False, soft_wrap=True)
        self._console.file.flush()


Display = Live | Lines


def display(console: Console, runs: int) -> Display:
    """Return the display that suits the console, for this number of runs."""
    return Live(console, runs) if console.is_terminal else Lines(console, runs)


def _ending(task: Task, outcomes: list[Outcome]) -> str:
    statuses = [outcome.record.status for outcome in outcomes]
    counts = ", ".join(
        f"{statuses.count(status)} {status}" if len(statuses) > 1 else status
        for status in dict.fromkeys(statuses)
    )
    costs = [outcome.record.cost for outcome in outcomes]
    seconds = sum(cost.fit_seconds + cost.predict_seconds for cost in costs if cost)
    return f"{task.name}: {counts} in {seconds:.1f} s"
