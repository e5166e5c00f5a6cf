"""Remaining time of a plan: estimated costs, corrected by the durations of finished tasks."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bnnbench.commands.planning.budget import Experience, in_words, of_fits
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.run.task import Task

WEIGHT_OF_ESTIMATES = 10.0
"""Seconds of finished tasks at which they weigh as much as the initial estimates."""

LONG = 60.0
"""Duration of a plan from which this machine's speed is measured; measuring takes a second."""

Clock = Callable[[], float]


@dataclass
class _Running:
    start: float
    runs: tuple[Run, ...]
    share: float = 0.0


class Forecast:
    """The remaining seconds, updated as tasks start, progress and end."""

    def __init__(
        self, estimates: Mapping[str, float | None], workers: int, clock: Clock = time.monotonic
    ) -> None:
        """Take key → estimated seconds, None if unknown, for all runs to be done."""
        self._estimates, self._workers, self._clock = estimates, workers, clock
        self._left = set(estimates)
        self._running: dict[int, _Running] = {}
        self._estimated = self._taken = WEIGHT_OF_ESTIMATES
        self._runs_without, self._taken_without = 0, 0.0

    def started(self, task: Task) -> None:
        """Note that a task has started."""
        self._running[id(task)] = _Running(self._clock(), task.runs)

    def progressed(self, task: Task, share: float) -> None:
        """Note the completed share of a task."""
        if running := self._running.get(id(task)):
            running.share = share

    def lost(self, task: Task) -> None:
        """Note that a task must start again, or has ended without being run."""
        self._running.pop(id(task), None)

    def dropped(self, runs: Iterable[Run]) -> None:
        """Note that this driver does not run these runs."""
        self._left -= {run.key for run in runs}

    def finished(self, task: Task) -> None:
        """Note that a task has ended."""
        self.dropped(task.runs)
        if (running := self._running.pop(id(task), None)) is None:
            return
        taken = self._clock() - running.start
        estimated, without = self._estimated_seconds(run.key for run in task.runs)
        if without:
            self._runs_without += len(task.runs)
            self._taken_without += taken
        else:
            self._estimated += estimated
            self._taken += taken

    @property
    def seconds(self) -> float | None:
        """The remaining seconds; None if unknown.

        Runs without an estimate are assumed to take as long as finished runs without an estimate.
        """
        now = self._clock()
        running = [self._remaining(task, now) for task in self._running.values()]
        at_work = {run.key for task in self._running.values() for run in task.runs}
        waiting = self._expected(self._left - at_work)
        known = [seconds for seconds in running if seconds is not None]
        if waiting is None or len(known) < len(running):
            return None
        return max((sum(known) + waiting) / self._workers, max(known, default=0.0))

    @property
    def in_words(self) -> str:
        """Text for the end of a line: "about 12 min left"; "" if unknown or below a second."""
        seconds = self.seconds if self._left else None
        return f"about {in_words(seconds)} left" if seconds and seconds >= 1 else ""

    def _remaining(self, task: _Running, now: float) -> float | None:
        """Return the remaining seconds of a running task; once overdue, from its progress only."""
        elapsed = now - task.start
        total = self._expected({run.key for run in task.runs})
        if total is not None and (elapsed <= total or not task.share):
            return max(total - elapsed, 0.0)
        return elapsed * (1 / task.share - 1) if task.share else None

    def _expected(self, keys: Iterable[str]) -> float | None:
        estimated, without = self._estimated_seconds(keys)
        expected = estimated * self._taken / self._estimated
        if without:
            if not self._runs_without:
                return None
            expected += without * self._taken_without / self._runs_without
        return expected

    def _estimated_seconds(self, keys: Iterable[str]) -> tuple[float, int]:
        """Return the sum of the estimates, and the number of runs without one."""
        seconds = [self._estimates.get(key) for key in keys]
        known = [one for one in seconds if one is not None]
        return sum(known), len(seconds) - len(known)


def forecast(
    tasks: Sequence[Task], experience: Experience, rows: Mapping[str, int], workers: int
) -> Forecast:
    """Return the forecast of tasks; `rows` maps each case to its number of training rows.

    The speed of this machine is measured only for a plan of more than a minute.
    """
    runs = [run for task in tasks for run in task.runs]
    costs = {run.key: experience.cost(run, rows.get(run.case.name), measured=False) for run in runs}
    costs = {key: cost for task in tasks for key, cost in of_fits(task, costs).items()}
    known = [cost for cost in costs.values() if cost]
    total = sum(cost.seconds for cost in known)
    is_shipped = any(cost.basis == "shipped" for cost in known)
    slow = experience.slowness if is_shipped and total / workers > LONG else 1.0
    return Forecast(
        {
            key: cost and cost.seconds * (slow if cost.basis == "shipped" else 1.0)
            for key, cost in costs.items()
        },
        workers,
    )
