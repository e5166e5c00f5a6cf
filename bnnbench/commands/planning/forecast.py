"""Remaining time of a plan: estimated costs, corrected by the durations of finished tasks.

A method's own finished tasks correct its estimates; those of a method that has none yet are
corrected by all finished tasks, and by what is done of the running ones.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bnnbench.commands.planning.budget import Experience, in_words, of_fits
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.run.task import Task

WEIGHT_OF_ESTIMATES = 10.0
"""Seconds of finished tasks at which they weigh as much as the initial estimates."""

KNOWN_SHARE = 0.1
"""Share of a running task from which its elapsed time tells more than its estimate, if it also runs
for as many seconds as the estimates weigh."""

LONG = 60.0
"""Duration of a plan from which this machine's speed is measured; measuring takes a second."""

Clock = Callable[[], float]

Typical = Callable[[Iterable[float]], float]
"""A function that takes the seconds of a run of each method."""


@dataclass
class _Running:
    start: float
    runs: tuple[Run, ...]
    share: float = 0.0

    def tells_at(self, now: float) -> bool:
        """Return whether the share that is done tells how long the task takes."""
        return self.share >= KNOWN_SHARE and now - self.start >= WEIGHT_OF_ESTIMATES


class Forecast:
    """The remaining seconds, updated as tasks start, progress and end."""

    def __init__(
        self,
        estimates: Mapping[str, float | None],
        workers: int,
        clock: Clock = time.monotonic,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Take key → estimated seconds, None if unknown, for all runs, and key → method."""
        self._estimates, self._workers, self._clock = estimates, workers, clock
        self._labels = labels or {}
        self._left = set(estimates)
        self._running: dict[int, _Running] = {}
        self._estimated = self._taken = WEIGHT_OF_ESTIMATES
        self._of_method: dict[str, tuple[float, float]] = {}
        """Method → estimated and actual seconds of its finished tasks."""
        self._without: dict[str, tuple[int, float]] = {}
        """Method → number and seconds of its finished runs without an estimate."""

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
            label = self._label(without[0])
            runs, seconds = self._without.get(label, (0, 0.0))
            self._without[label] = runs + len(task.runs), seconds + taken
        else:
            self._estimated += estimated
            self._taken += taken
            self._correct(self._label(task.runs[0].key), estimated, taken)

    def _correct(self, label: str, estimated: float, taken: float) -> None:
        if label and estimated > 0:
            before = self._of_method.get(label, (0.0, 0.0))
            self._of_method[label] = before[0] + estimated, before[1] + taken

    @property
    def seconds(self) -> float | None:
        """The remaining seconds; None if unknown.

        Runs without an estimate are assumed to take as long as finished runs without an estimate,
        of the same method if there are any.
        """
        return self._seconds(self._mean)

    def _seconds(self, typical: Typical) -> float | None:
        """Return the remaining seconds; `typical` gives those of a run of a method that no finished
        run has, from the seconds of a run of each other method.
        """
        now = self._clock()
        running = [self._remaining(task, now, typical) for task in self._running.values()]
        at_work = {run.key for task in self._running.values() for run in task.runs}
        waiting = self._expected(self._left - at_work, typical)
        known = [seconds for seconds in running if seconds is not None]
        if waiting is None or len(known) < len(running):
            return None
        return max((sum(known) + waiting) / self._workers, max(known, default=0.0))

    @property
    def in_words(self) -> str:
        """Text for the end of a line: "about 12 min left"; "" if unknown or below a second.

        While methods wait that are without an estimate and without a finished run, it is a range,
        from the fastest to the slowest method so far; "" while there are not two.
        """
        seconds = self.seconds if self._left else None
        if not seconds or seconds < 1:
            return ""
        if not self._unseen:
            return f"about {in_words(seconds)} left"
        least, most = self._seconds(min), self._seconds(max)
        if len(self._without) < 2 or least is None or most is None:
            return ""
        return f"{in_words(least)} to {in_words(most)} left"

    @property
    def _unseen(self) -> bool:
        """True if a waiting run has no estimate and no run of its method has finished."""
        at_work = {run.key for task in self._running.values() for run in task.runs}
        _, without = self._estimated_seconds(self._left - at_work)
        return any(self._label(key) not in self._without for key in without)

    def _label(self, key: str) -> str:
        return self._labels.get(key, "")

    def _remaining(self, task: _Running, now: float, typical: Typical) -> float | None:
        """Return the remaining seconds of a running task, as soon as possible from its progress."""
        elapsed = now - task.start
        if task.tells_at(now):
            return elapsed * (1 / task.share - 1)
        total = self._expected({run.key for run in task.runs}, typical)
        if total is not None and (elapsed <= total or not task.share):
            return max(total - elapsed, 0.0)
        return elapsed * (1 / task.share - 1) if task.share else None

    def _expected(self, keys: Iterable[str], typical: Typical) -> float | None:
        estimated, without = self._estimated_seconds(keys, corrected=True)
        if without and not self._without:
            return None
        return estimated + sum(self._of_one(self._label(key), typical) for key in without)

    def _of_one(self, label: str, typical: Typical) -> float:
        """Return the seconds of a run without an estimate."""
        if label in self._without:
            runs, seconds = self._without[label]
            return seconds / runs
        return typical(seconds / runs for runs, seconds in self._without.values())

    def _mean(self, _: Iterable[float]) -> float:
        runs, seconds = map(sum, zip(*self._without.values(), strict=True))
        return seconds / runs

    def _estimated_seconds(
        self, keys: Iterable[str], corrected: bool = False
    ) -> tuple[float, list[str]]:
        """Return the sum of the estimates, and the runs without one."""
        seconds = {key: self._estimates.get(key) for key in keys}
        known = {key: one for key, one in seconds.items() if one is not None}
        if corrected:
            of_others = self._of_all_tasks()
            ratios = {n: taken / planned for n, (planned, taken) in self._of_method.items()}
            known = {k: one * ratios.get(self._label(k), of_others) for k, one in known.items()}
        return sum(known.values()), [key for key, one in seconds.items() if one is None]

    def _of_all_tasks(self) -> float:
        """Return actual over estimated seconds of what is done of all tasks."""
        estimated, taken = self._estimated, self._taken
        now = self._clock()
        for task in (one for one in self._running.values() if one.tells_at(now)):
            seconds, without = self._estimated_seconds(run.key for run in task.runs)
            if not without:
                estimated += task.share * seconds
                taken += now - task.start
        return taken / estimated


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
        labels={run.key: run.label for run in runs},
    )
