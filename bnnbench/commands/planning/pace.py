"""The time of a suite of one data set by its pilot, and cuts until it fits into a limit."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bnnbench.commands.planning.budget import Cost, Piloted, wall_clock
from bnnbench.commands.planning.cuts import Cut, Fixed, cut_to
from bnnbench.commands.planning.pilot import Pilot
from bnnbench.engine.declare.grid import Run, Suite
from bnnbench.methods.base import BatchedMethod

SECONDS_BESIDES = 30.0
"""Seconds of a command besides its fits and the pilot's: loading libraries, tables, the report."""


@dataclass(frozen=True)
class Pace:
    """The conditions of a suite's fits."""

    rows: int
    """Number of training rows."""
    workers: int
    minutes: float | None
    """The time limit of the command; None without one."""

    @property
    def limit(self) -> float:
        """The seconds that all fits may take."""
        return 60 * (self.minutes or math.inf) - SECONDS_BESIDES

    def cut(self, suite: Suite, pilot: Pilot, fixed: Fixed) -> Cut:
        """Return the first cut after which a suite takes as long as it may."""
        if self.minutes is None:
            return Cut()
        limit = self.limit - pilot.taken / self.workers
        return cut_to(suite, limit, lambda rest: self.seconds(rest, pilot), fixed)

    def seconds(self, suite: Suite, pilot: Pilot) -> float:
        """Return the wall-clock seconds of a suite's fits, the longest task first."""
        tasks = sorted(self._tasks(suite, pilot), reverse=True)
        return wall_clock(tasks, self.workers)

    def _tasks(self, suite: Suite, pilot: Pilot) -> Iterator[float]:
        for label, method in suite.methods.items():
            left, size = _fits(suite), _together(suite, method)
            while left > 0:
                runs = min(size, left)
                yield runs * pilot.seconds(label, method, self.rows, runs)
                left -= runs


def costs(suite: Suite, pilot: Pilot) -> Piloted:
    """Return a function for the costs of a suite's runs."""

    def cost(run: Run, rows: int) -> Cost | None:
        together = _together(suite, run.method)
        seconds = pilot.seconds(run.label, run.method, rows, together)
        return Cost(seconds, pilot.bytes(run.label), "pilot")

    return cost


def _fits(suite: Suite) -> int:
    """Return the number of splits and seeds of a suite with one case."""
    (case,) = suite.cases
    return min(suite.folds, case.source.folds) * suite.seeds


def _together(suite: Suite, method: object) -> int:
    """Return the number of runs in a method's largest task."""
    return min(suite.fitted_together, _fits(suite)) if isinstance(method, BatchedMethod) else 1
