"""The part of a plan that this driver runs; other drivers may share the work."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from bnnbench.commands.planning.plan import Plan
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.run.checkpoints import FOLDER, discard
from bnnbench.engine.run.task import RunResult, Task
from bnnbench.engine.store.leases import Leases
from bnnbench.engine.store.store import Store
from bnnbench.wording import counted

TRIES = 3
"""Runs of a method on a data set failing in the same place, after which no more are tried."""


@runtime_checkable
class Audience(Protocol):
    """A display that is notified of runs this driver leaves to others or does not try."""

    def passed_over(self, runs: Sequence[Run]) -> None: ...

    def note(self, line: str) -> None: ...


class Share:
    """The tasks of a plan whose runs this driver has leased, one task after the other."""

    def __init__(self, planned: Plan, store: Store, leases: Leases, audience: Audience) -> None:
        self._planned, self._store, self._leases = planned, store, leases
        self._audience = audience
        self._latest_message = ""
        self._places: dict[tuple[str, str], list[str | None]] = defaultdict(list)
        """Method and data set → places where runs failed so far; None for a run that did not fail.
        """
        self.not_tried = 0
        """Number of runs skipped because the runs before them failed in the same place."""

    def tasks(self) -> Iterator[Task | None]:
        """Yield tasks as their leases are acquired, None while other drivers hold all the rest.

        Runs that another driver has finished since the plan was made count as done.
        """
        remaining = list(self._planned.tasks)
        while remaining:
            waiting: list[Task] = []
            for task in remaining:
                if self._gives_up(task):
                    continue
                leased, held = self._leased(task)
                if held:
                    waiting.append(replace(task, runs=held))
                if leased:
                    yield replace(task, runs=leased)
            remaining = waiting
            if remaining:
                self._say_who_has(remaining)
                yield None

    def keep(self, outcomes: Sequence[RunResult]) -> None:
        """Store the outcomes of runs, and release their leases.

        If another driver took over a run because this one seemed dead, the other's result stands.
        """
        writable = [outcome for outcome in outcomes if self._may_write(outcome.record.key)]
        self._store.write_all((outcome.record, outcome.predictions) for outcome in writable)
        finished = (o.record.key for o in writable if o.record.outcome.status != "failed")
        discard(self._store.folder / FOLDER, finished)
        for outcome in outcomes:
            self._leases.release(outcome.record.key)
            names = outcome.record.method, outcome.record.dataset
            self._places[names].append(outcome.record.outcome.failed_at)

    def _gives_up(self, task: Task) -> bool:
        """Return whether a task is skipped because all runs before it failed in the same place."""
        names = task.runs[0].label, task.runs[0].case.name
        places = self._places[names]
        if len(places) < TRIES or len(set(places)) > 1 or places[0] is None:
            return False
        self._say_once(
            f"{' on '.join(names)}: {len(places)} runs failed in the same place, {places[0]}; its "
            "other runs are not tried. Correct the method, then repeat the command"
        )
        self.not_tried += len(task.runs)
        self._audience.passed_over(task.runs)
        return True

    def _leased(self, task: Task) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
        """Return the runs of a task that this driver leases now, and those that others hold."""
        leased: list[Run] = []
        held: list[Run] = []
        for run in task.runs:
            if not self._leases.acquire(run.key):
                held.append(run)
            elif self._carried_out(run.key):
                self._leases.release(run.key)
                self._audience.passed_over([run])
            else:
                leased.append(run)
        return tuple(leased), tuple(held)

    def _may_write(self, key: str) -> bool:
        if self._leases.holds(key):
            return True
        return self._leases.acquire(key) and not self._carried_out(key)

    def _carried_out(self, key: str) -> bool:
        """Return whether the run was finished since the plan was made."""
        record = self._store.read(key)
        before = self._planned.before.get(key)
        return record is not None and record.circumstances.provenance.get("finished") != before

    def _say_who_has(self, tasks: Sequence[Task]) -> None:
        runs = sum(len(task.runs) for task in tasks)
        others = ", ".join(self._leases.others()) or "other drivers"
        line = f"Waiting for {counted(runs)} of {others}"
        self._say_once(line)

    def _say_once(self, line: str) -> None:
        if line != self._latest_message:
            self._latest_message = line
            self._audience.note(line)
