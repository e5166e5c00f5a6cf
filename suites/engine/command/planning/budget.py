"""Estimates of the time and memory of a plan, from the costs of earlier runs."""

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from bnnbench.suites.engine.declare.description import canonical_json
from bnnbench.suites.engine.declare.grid import Run
from bnnbench.suites.engine.run.execute import Task
from bnnbench.suites.engine.store.record import Record

Basis = Literal["same", "scaled"]

NO_PART_OF_COST = ("suite", "profile", "fold", "seed")
"""Fields of a run's description that change its time and memory little or not at all."""


@dataclass(frozen=True)
class Cost:
    """Estimated cost of one run; the basis is the same method and data, or others, scaled."""

    seconds: float
    bytes: float
    """Growth of a worker's memory for each run that is fitted together."""
    basis: Basis


@dataclass(frozen=True)
class _PastCost:
    seconds: float
    work: float
    bytes: float


class Experience:
    """The costs of earlier runs."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._costs: dict[str, list[_PastCost]] = defaultdict(list)
        for record in records:
            rows = record.facts.get("train_rows")
            if record.cost is None or record.status == "failed" or not isinstance(rows, int):
                continue
            cost = record.cost
            seconds = cost.fit_seconds + cost.predict_seconds
            past = _PastCost(seconds, _work(record.run, rows), cost.peak_bytes)
            for category in _categories(record.run):
                self._costs[category].append(past)

    def cost(self, run: Run, rows: int | None) -> Cost | None:
        """Return the estimated cost of a run on this number of training rows; None if unknown.

        The estimate comes from the same method on the same data; else, scaled by rows and epochs,
        from the same settings on other data or the same method in other settings.
        """
        exact, *similar = _categories(run.description)
        if past := self._costs.get(exact):
            return Cost(median(k.seconds for k in past), max(k.bytes for k in past), "same")
        for category in similar if rows else ():
            if past := self._costs.get(category):
                work = _work(run.description, rows or 0)
                seconds = work * median(k.seconds / k.work for k in past)
                return Cost(seconds, max(k.bytes for k in past), "scaled")
        return None


@dataclass(frozen=True)
class Budget:
    """Estimated time and memory of a plan."""

    seconds: float
    """Wall-clock time of all runs whose cost is known."""
    unknown: int
    """Number of runs whose cost is unknown."""
    bytes: float
    """Largest growth of one worker's memory, over tasks whose cost is known."""
    largest: Task | None
    """The task that needs the most memory."""


def budget(tasks: Sequence[Task], costs: Mapping[str, Cost | None], workers: int) -> Budget:
    """Return the budget of tasks on this number of workers; `costs` are by key of run.

    As with executors, each task in turn goes to the first worker that is free.
    """
    ends = [0.0] * workers
    unknown, most, largest = 0, 0.0, None
    for task in tasks:
        known = [cost for run in task.runs if (cost := costs[run.key])]
        unknown += len(task.runs) - len(known)
        heapq.heapreplace(ends, ends[0] + math.fsum(cost.seconds for cost in known))
        if (needed := math.fsum(cost.bytes for cost in known)) > most:
            most, largest = needed, task
    return Budget(max(ends), unknown, most, largest)


def in_words(seconds: float) -> str:
    """Return a duration as text, in the largest unit that suits."""
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
    """Return the keys that runs of like cost share: settings and data, settings, kind of method."""
    settings = {name: value for name, value in run.items() if name not in NO_PART_OF_COST}
    method = run["method"]
    method_type = method.get("type") if isinstance(method, Mapping) else method
    return canonical_json(settings), canonical_json([method]), canonical_json(method_type)


def _work(run: Mapping[str, object], rows: int) -> float:
    """Return the number of row visits, as far as the description gives it."""
    rule = run.get("acquisition")
    rounds = rule.get("rounds", 0) if isinstance(rule, Mapping) else 0
    return max(rows, 1) * _epochs(run["method"]) * (1 + float(rounds))


def _epochs(settings: object) -> float:
    """Return the epochs in a method's settings, at any depth, or 1 where there are none."""
    if not isinstance(settings, Mapping):
        return 1.0
    epochs = settings.get("epochs")
    if isinstance(epochs, int | float) and epochs > 0:
        return float(epochs)
    return max((_epochs(value) for value in settings.values()), default=1.0)
