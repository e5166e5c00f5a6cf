"""Counts of a method's runs by their status, including runs that were never started."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bnnbench.engine.records.record import Record
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.exclusions import unconverged


@dataclass(frozen=True)
class Success:
    """The runs of one method; the requested runs are the folds and seeds of any method."""

    method: str
    asked: int
    completed: int
    diverged: int = 0
    failed: int = 0
    unconverged: int = 0
    """The number of completed runs that did not converge, by their own diagnostics."""

    @property
    def missing(self) -> int:
        """The number of folds and seeds that other methods have and this one lacks."""
        return self.asked - self.begun

    @property
    def begun(self) -> int:
        """The number of runs in the store, whatever their status."""
        return self.completed + self.diverged + self.failed

    @property
    def share(self) -> float:
        """The share of requested runs that were completed; NaN if none was requested."""
        return self.completed / self.asked if self.asked else math.nan

    @property
    def whole(self) -> bool:
        """True if every requested run was completed."""
        return self.completed == self.asked

    def __add__(self, other: "Success") -> "Success":
        """Return the sum of two counts, for instance on several data sets."""
        return Success(
            self.method,
            self.asked + other.asked,
            self.completed + other.completed,
            self.diverged + other.diverged,
            self.failed + other.failed,
            self.unconverged + other.unconverged,
        )


def successes(benchmark: Benchmark, methods: Sequence[str] = ()) -> dict[str, Success]:
    """Return method → its counts on one data set, for `methods` or for all with runs."""
    asked = len({(r.fold, r.seed) for r in benchmark.records})
    named = methods or tuple(benchmark.runs)
    return {name: _success(name, benchmark.runs.get(name, ()), asked) for name in named}


def over_all(benchmarks: Iterable[Benchmark], methods: Sequence[str]) -> dict[str, Success]:
    """Return method → its counts over all data sets."""
    totals = {name: Success(name, 0, 0) for name in methods}
    for benchmark in benchmarks:
        for name, success in successes(benchmark, methods).items():
            totals[name] += success
    return totals


def _success(method: str, runs: Sequence[Record], asked: int) -> Success:
    ends = [run.outcome.status for run in runs]
    counts = (ends.count(end) for end in ("completed", "diverged", "failed"))
    return Success(method, asked, *counts, unconverged=unconverged(runs))
