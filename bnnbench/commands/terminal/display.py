"""Progress of a suite, as bars on a terminal or as plain lines."""

import math
import time
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from bnnbench.commands.planning.forecast import Forecast
from bnnbench.commands.terminal.terminal import say
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.run.task import RunResult, Task

SECONDS_BETWEEN_LINES = 10.0
SECONDS_BETWEEN_FORECASTS = 1.0


class Live:
    """A bar for each running task and one for all runs, with the remaining time."""

    def __init__(self, console: Console, runs: int, forecast: Forecast) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            console=console,
            transient=True,
        )
        self._all = self._progress.add_task("[bold]all runs", total=runs, state="")
        self._bars: dict[int, TaskID] = {}
        self._console, self._forecast, self._latest = console, forecast, -math.inf

    def __enter__(self) -> "Live":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def started(self, task: Task) -> None:
        """Show a new bar."""
        self._forecast.started(task)
        name = escape(legible(task.name))
        self._bars[id(task)] = self._progress.add_task(name, total=None, state="")

    def progressed(self, task: Task, done: int, total: int, loss: float) -> None:
        """Move the task's bar to `done` of `total` epochs."""
        bar = self._bars[id(task)]
        self._progress.update(bar, completed=done, total=total, state=_of_loss(loss))
        self._forecast.progressed(task, done / total)
        self._say_time()

    def lost(self, task: Task, reason: str) -> None:
        """Report that a worker was lost and how the task continues."""
        self._forecast.lost(task)
        self._progress.remove_task(self._bars.pop(id(task)))
        self._console.print(f"[yellow]{escape(legible(f'{task.name}: {reason}'))}")

    def passed_over(self, runs: Sequence[Run]) -> None:
        """Count runs that this driver does not run."""
        self._forecast.dropped(runs)
        self._progress.advance(self._all, len(runs))

    def note(self, line: str) -> None:
        """Print a line on overall progress."""
        self._console.print(legible(line), markup=False, highlight=False)

    def finished(self, task: Task, outcomes: list[RunResult]) -> None:
        """Remove the task's bar and report how it ended."""
        if (bar := self._bars.pop(id(task), None)) is not None:
            self._progress.remove_task(bar)
        self._forecast.finished(task)
        self._progress.advance(self._all, len(task.runs))
        self._say_time()
        self._console.print(legible(_ending(task, outcomes)), markup=False, highlight=False)

    def _say_time(self) -> None:
        """Show the remaining time; progress is reported far more often than it changes."""
        if time.monotonic() - self._latest >= SECONDS_BETWEEN_FORECASTS:
            self._latest = time.monotonic()
            self._progress.update(self._all, state=self._forecast.in_words)


class Lines:
    """A line for every finished task and, at intervals, for running tasks."""

    def __init__(
        self,
        console: Console,
        runs: int,
        forecast: Forecast,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console, self._runs, self._done, self._forecast = console, runs, 0, forecast
        self._clock, self._latest = clock, clock()

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None: ...

    def started(self, task: Task) -> None:
        """Print nothing; most tasks end soon."""
        self._forecast.started(task)

    def progressed(self, task: Task, done: int, total: int, loss: float) -> None:
        """Report the share that is done, unless a line was printed in the last seconds."""
        self._forecast.progressed(task, done / total)
        if self._clock() - self._latest >= SECONDS_BETWEEN_LINES:
            state = ", ".join(filter(None, (f"{done / total:.0%} done", _of_loss(loss))))
            self._say(self._with_time(f"{task.name}: {state}"))

    def lost(self, task: Task, reason: str) -> None:
        """Report that a worker was lost and how the task continues."""
        self._forecast.lost(task)
        self._say(f"{task.name}: {reason}")

    def passed_over(self, runs: Sequence[Run]) -> None:
        """Count runs that this driver does not run."""
        self._forecast.dropped(runs)
        self._done += len(runs)

    def note(self, line: str) -> None:
        """Print a line on overall progress."""
        self._say(line)

    def finished(self, task: Task, outcomes: list[RunResult]) -> None:
        """Report how the task ended and how many runs are done."""
        self._forecast.finished(task)
        self._done += len(task.runs)
        ending = f"[{self._done}/{self._runs}] {_ending(task, outcomes)}"
        self._say(self._with_time(ending))

    def _with_time(self, line: str) -> str:
        left = self._forecast.in_words
        return f"{line}; {left}" if left else line

    def _say(self, line: str) -> None:
        self._latest = self._clock()
        say(self._console, line)
        self._console.file.flush()


Display = Live | Lines


def display(console: Console, runs: int, forecast: Forecast) -> Display:
    """Return the display suited to the console, for this number of runs."""
    kind = Live if console.is_terminal else Lines
    return kind(console, runs, forecast)


def _ending(task: Task, outcomes: list[RunResult]) -> str:
    statuses = [outcome.record.outcome.status for outcome in outcomes]
    counts = ", ".join(
        f"{statuses.count(status)} {status}" if len(statuses) > 1 else status
        for status in dict.fromkeys(statuses)
    )
    costs = [outcome.record.cost for outcome in outcomes]
    fits = sum(cost.fit_seconds for cost in costs if cost and cost.fit_of is None)
    seconds = fits + sum(cost.predict_seconds for cost in costs if cost)
    return f"{task.name}: {counts} in {seconds:.1f} s"


def _of_loss(loss: float) -> str:
    """Return "" for a method without one."""
    return "" if math.isnan(loss) else f"loss {loss:.4g}"
