"""What a plan is likely to take, from what earlier runs took."""

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
"""Of a run's description, what changes no time and no memory, or little."""


@dataclass(frozen=True)
class Cost:
    """What one run is likely to take, and whether that is known of the same method and data."""

    seconds: float
    bytes: float
    """By which a worker grows, for each run that is fitted together."""
    basis: Basis


@dataclass(frozen=True)
class _Known:
    seconds: float
    work: float
    bytes: float


class Experience:
    """What earlier runs took."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._known: dict[str, list[_Known]] = defaultdict(list)
        for record in records:
            rows = record.facts.get("train_rows")
            if record.cost is None or record.status == "failed" or not isinstance(rows, int):
                continue
            cost = record.cost
            seconds = cost.fit_seconds + cost.predict_seconds
            known = _Known(seconds, _work(record.run, rows), cost.peak_bytes)
            for kind in _kinds(record.run):
                self._known[kind].append(known)

    def of(self, run: Run, rows: int | None) -> Cost | None:
        """Return the cost of a run on so many training rows, or None where nothing is known.

        That of the same method on the same data; else of the same settings on other data, or of
        the same method in other settings, scaled by rows and epochs.
        """
        same, *similar = _kinds(run.description)
        if known := self._known.get(same):
            return Cost(median(k.seconds for k in known), max(k.bytes for k in known), "same")
        for kind in similar if rows else ():
            if known := self._known.get(kind):
                work = _work(run.description, rows or 0)
                seconds = work * median(k.seconds / k.work for k in known)
                return Cost(seconds, max(k.bytes for k in known), "scaled")
        return None


@dataclass(frozen=True)
class Budget:
    """What is known of the cost of a plan."""

    seconds: float
    """From now to the end, of all runs whose cost is known."""
    unknown: int
    """How many runs have no known cost."""
    bytes: float
    """The most by which one worker grows, as far as that is known."""
    largest: Task | None
    """The task that needs it."""


def budget(tasks: Sequence[Task], costs: Mapping[str, Cost | None], workers: int) -> Budget:
    """Return the budget of tasks on so many workers, given the cost of a run by its key.

    Every task goes to the worker that is free first, in order, as executors have it.
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
    """Return a duration in the two largest units that it has."""
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


def _kinds(run: Mapping[str, object]) -> tuple[str, str, str]:
    """Return what runs have in common, from all that costs anything to the kind of method."""
    same = {name: value for name, value in run.items() if name not in NO_PART_OF_COST}
    method = run["method"]
    kind = method.get("type") if isinstance(method, Mapping) else method
    return canonical_json(same), canonical_json([method]), canonical_json(kind)


def _work(run: Mapping[str, object], rows: int) -> float:
    """Return how often a row is visited, as far as the description tells."""
    rule = run.get("acquisition")
    rounds = rule.get("rounds", 0) if isinstance(rule, Mapping) else 0
    return max(rows, 1) * _epochs(run["method"]) * (1 + float(rounds))


def _epochs(settings: object) -> float:
    """Return the epochs among a method's settings or those of what it is made of, or 1."""
    if not isinstance(settings, Mapping):
        return 1.0
    epochs = settings.get("epochs")
    if isinstance(epochs, int | float) and epochs > 0:
        return float(epochs)
    return max((_epochs(value) for value in settings.values()), default=1.0)
