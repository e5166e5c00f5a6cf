"""How the runs of a method ended: none is dropped in silence, nor one that never was begun."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.suites.engine.store.record import Record


@dataclass(frozen=True)
class Success:
    """The runs of one method: those asked for are the folds and seeds of any method."""

    method: str
    asked: int
    completed: int
    diverged: int = 0
    failed: int = 0
    unconverged: int = 0
    """Completed runs whose own diagnostics say that they did not converge."""

    @property
    def missing(self) -> int:
        """Folds and seeds that other methods have and of which the store holds no run."""
        return self.asked - self.begun

    @property
    def begun(self) -> int:
        """Runs in the store, however they ended."""
        return self.completed + self.diverged + self.failed

    @property
    def share(self) -> float:
        """Completed of asked; NaN where nothing was asked."""
        return self.completed / self.asked if self.asked else math.nan

    @property
    def whole(self) -> bool:
        """Whether every run was completed."""
        return self.completed == self.asked

    @property
    def words(self) -> str:
        """In words, such as "17 of 20: 2 diverged, 1 not run"."""
        ends = {"diverged": self.diverged, "failed": self.failed, "not run": self.missing}
        other = ", ".join(f"{count} {end}" for end, count in ends.items() if count)
        return f"{self.completed} of {self.asked}" + (f": {other}" if other else "")

    def __add__(self, other: "Success") -> "Success":
        """Return both together, as over several data sets."""
        return Success(
            self.method,
            self.asked + other.asked,
            self.completed + other.completed,
            self.diverged + other.diverged,
            self.failed + other.failed,
            self.unconverged + other.unconverged,
        )


def successes(benchmark: Benchmark, methods: Sequence[str] = ()) -> dict[str, Success]:
    """Return method → how its runs ended on one data set, for `methods` or all that have runs."""
    asked = len({(r.fold, r.seed) for r in benchmark.records})
    named = methods or tuple(benchmark.runs)
    return {name: _success(name, benchmark.runs.get(name, ()), asked) for name in named}


def over_all(benchmarks: Iterable[Benchmark], methods: Sequence[str]) -> dict[str, Success]:
    """Return method → how its runs ended over all data sets."""
    found = {name: Success(name, 0, 0) for name in methods}
    for benchmark in benchmarks:
        for name, one in successes(benchmark, methods).items():
            found[name] += one
    return found


def _success(method: str, runs: Sequence[Record], asked: int) -> Success:
    ends = [run.status for run in runs]
    counts = (ends.count(end) for end in ("completed", "diverged", "failed"))
    astray = sum(r.status == "completed" and r.diagnostics.get("converged") == 0 for r in runs)
    return Success(method, asked, *counts, unconverged=astray)
