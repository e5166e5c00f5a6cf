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
    all_rows: int
    """Number of rows of the table, to which the first method is fitted in the end."""
    workers: int
    minutes: float | None
    """The time limit of the command; None without one."""

    def limit(self, pilot: Pilot) -> float:
        """Return the seconds that all fits may take after a pilot; infinite without a limit."""
        whole = 60 * (self.minutes or math.inf) - SECONDS_BESIDES
        return whole - pilot.taken / self.workers

    def cut(self, suite: Suite, pilot: Pilot, fixed: Fixed) -> Cut:
        """Return the first cut after which a suite takes as long as it may."""
        return cut_to(suite, self.limit(pilot), lambda rest: self.seconds(rest, pilot), fixed)

    def seconds(self, suite: Suite, pilot: Pilot) -> float:
        """Return the wall-clock seconds of a suite's fits and of its first method's to all rows.

        The longest task comes first. Any method may be the first of the table: the slowest counts.
        """
        tasks = sorted(self._tasks(suite, pilot), reverse=True)
        refits = (pilot.seconds(n, m, self.all_rows, 1) for n, m in suite.methods.items())
        return wall_clock(tasks, self.workers) + max(refits)

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
