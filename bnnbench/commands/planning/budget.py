"""Estimate the time and memory of a plan from the costs of earlier runs."""

import functools
import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from bnnbench.commands.planning import shipped_costs
from bnnbench.commands.planning.shipped_costs import row_visits, shipped_cost
from bnnbench.engine.declare.description import canonical_json
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.task import Task

Basis = Literal["same", "pilot", "shipped", "scaled"]

NO_PART_OF_COST = ("suite", "profile", "fold", "seed")
"""Fields of a run's description that hardly affect its time and memory."""


@dataclass(frozen=True)
class Cost:
    """Estimated cost of one run.

    The basis is one of four: runs of the same method and data in this store; a pilot; the finished
    runs shipped with this version, at the speed of this machine; other runs in this store, scaled.
    """

    seconds: float
    bytes: float
    """Growth of a worker's memory per run fitted together."""
    basis: Basis


Piloted = Callable[[Run, int], Cost | None]
"""A function that estimates a run's cost on a number of training rows from a pilot."""


@dataclass(frozen=True)
class _PastCost:
    seconds: float
    visits: float | None
    bytes: float


class Experience:
    """The costs of earlier runs, from a store and from the runs shipped with this version."""

    def __init__(
        self,
        records: Iterable[Record] = (),
        slowness: Callable[[], float] = shipped_costs.slowness,
        piloted: Piloted | None = None,
    ) -> None:
        """Take the store's records, a function for this machine's slowness, called if needed, and
        one for estimates from a pilot.
        """
        self._slowness = functools.cache(slowness)
        self._piloted = piloted
        self._costs: dict[str, list[_PastCost]] = defaultdict(list)
        for record in records:
            rows = record.circumstances.facts.get("train_rows")
            if (
                record.cost is None
                or record.outcome.status == "failed"
                or "method" not in record.run
            ):
                continue
            if not isinstance(rows, int):
                continue
            cost = record.cost
            seconds = cost.fit_seconds + cost.predict_seconds
            past = _PastCost(seconds, row_visits(record.run, rows), cost.peak_bytes)
            for category in _categories(record.run):
                self._costs[category].append(past)

    def cost(self, run: Run, rows: int | None, measured: bool = True) -> Cost | None:
        """Return the estimated cost of a run on this number of training rows; None if unknown.

        The estimate comes from the same method on the same data in the store; else from a pilot, if
        there was one; else from finished
        runs of the same suite shipped with this version; else, scaled by rows and epochs, from the
        same settings on other data or the same method with other settings. Unless `measured`,
        shipped costs are not adjusted to the speed of this machine.
        """
        exact, *similar = _categories(run.description)
        if past := self._costs.get(exact):
            return Cost(median(k.seconds for k in past), max(k.bytes for k in past), "same")
        if rows and self._piloted and (cost := self._piloted(run, rows)):
            return cost
        if shipped := shipped_cost(run, rows):
            slowness = self._slowness() if measured else 1.0
            return Cost(shipped.seconds * slowness, shipped.bytes, "shipped")
        visits = row_visits(run.description, rows) if rows else None
        for category in similar:
            past = self._costs.get(category, ())
            rates = [k.seconds / k.visits for k in past if k.visits]
            if visits is not None and rates:
                return Cost(visits * median(rates), max(k.bytes for k in past), "scaled")
        return None

    def seconds(self, task: Task, rows: Mapping[str, int]) -> float:
        """Return the estimated time of a task; 0 for runs whose cost is unknown."""
        costs = {run.key: self.cost(run, rows.get(run.case.name)) for run in task.runs}
        return math.fsum(cost.seconds for cost in of_fits(task, costs).values() if cost)

    @property
    def slowness(self) -> float:
        """Time on this machine relative to the machine of the finished runs."""
        return self._slowness()


@dataclass(frozen=True)
class Budget:
    """Estimated time and memory of a plan."""

    seconds: float
    """Wall-clock time of all runs whose cost is known."""
    unknown: int
    """Number of runs whose cost is unknown."""
    bytes: float
    """Maximum growth of one worker's memory, over tasks whose cost is known."""
    largest: Task | None
    """The task that needs the most memory."""


def budget(tasks: Sequence[Task], costs: Mapping[str, Cost | None], workers: int) -> Budget:
    """Return the budget of tasks on this number of workers; `costs` maps a run's key to its cost.

    As in the executors, each task in turn goes to the first free worker.
    """
    unknown, most, largest, seconds = 0, 0.0, None, []
    for task in tasks:
        known = [cost for cost in of_fits(task, costs).values() if cost]
        unknown += len(task.runs) - len(known)
        seconds.append(math.fsum(cost.seconds for cost in known))
        if (needed := math.fsum(cost.bytes for cost in known)) > most:
            most, largest = needed, task
    return Budget(wall_clock(seconds, workers), unknown, most, largest)


def wall_clock(seconds: Iterable[float], workers: int) -> float:
    """Return the time of tasks of these durations, each in turn given to the first free worker."""
    ends = [0.0] * workers
    for task in seconds:
        heapq.heapreplace(ends, ends[0] + task)
    return max(ends)


def of_fits(task: Task, costs: Mapping[str, Cost | None]) -> dict[str, Cost | None]:
    """Return key → cost of a task's runs, counting a shared fit once.

    Runs of the same fold and seed share a fit; the most expensive of them counts.
    """
    fits: dict[tuple[int, int], list[str]] = defaultdict(list)
    for run in task.runs:
        fits[run.fold, run.seed].append(run.key)
    once: dict[str, Cost | None] = {}
    for keys in fits.values():
        known = {key: cost for key in keys if (cost := costs[key])}
        dearest = max(known, key=lambda key: known[key].seconds, default=None)
        free = {key: Cost(0.0, 0.0, cost.basis) for key, cost in known.items() if key != dearest}
        once |= {key: free.get(key, costs[key]) for key in keys}
    return once


def in_words(seconds: float) -> str:
    """Return a duration as text, in a suitable unit."""
    minutes, hours, days = seconds / 60, seconds / 3600, seconds / 86400
    if seconds < 10:
        return f"{seconds:.1f} s"
    if minutes < 2:
        return f"{seconds:.0f} s"
    if hours < 2:
        return f"{minutes:.0f} min"
    if days < 2:
        return f"{hours:.1f} h"
    return f"{days:.1f} days"


def _categories(run: Mapping[str, object]) -> tuple[str, str, str]:
    """Return keys shared by runs of similar cost: settings and data, settings, kind of method."""
    settings = {name: value for name, value in run.items() if name not in NO_PART_OF_COST}
    method = run["method"]
    kinds = list(_kinds(method)) if isinstance(method, Mapping) else method
    return canonical_json(settings), canonical_json([method]), canonical_json({"kinds": kinds})


def _kinds(settings: Mapping[str, object]) -> Iterator[object]:
    """Yield the type of a method and the types of the methods and rules inside it."""
    yield settings.get("type")
    for value in settings.values():
        if isinstance(value, Mapping):
            yield from _kinds(value)
