"""What this driver does of a plan, where others may work on the same one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from bnnbench.suites.engine.command.plan import Plan
from bnnbench.suites.engine.declare.grid import Run
from bnnbench.suites.engine.run.execute import Outcome, Task
from bnnbench.suites.engine.store.checkpoints import FOLDER, discard
from bnnbench.suites.engine.store.claims import Claims
from bnnbench.suites.engine.store.store import Store


@runtime_checkable
class Audience(Protocol):
    """Whoever wants to know what others do."""

    def done_by_other_driver(self, runs: int) -> None: ...

    def waiting(self, reason: str) -> None: ...


class Share:
    """The tasks of a plan whose runs this driver has claimed, one after the other."""

    def __init__(self, planned: Plan, store: Store, claims: Claims, audience: Audience) -> None:
        self._planned, self._store, self._claims = planned, store, claims
        self._audience = audience
        self._said = ""

    def tasks(self) -> Iterator[Task | None]:
        """Yield tasks as they are claimed, and None while others have all that is left.

        What another driver has carried out since the plan was made, well or not, is done.
        """
        left = list(self._planned.tasks)
        while left:
            held: list[Task] = []
            for task in left:
                mine, others = self._claimed(task)
                if others:
                    held.append(replace(task, runs=others))
                if mine:
                    yield replace(task, runs=mine)
            left = held
            if left:
                self._say_who_has(left)
                yield None

    def keep(self, outcomes: Sequence[Outcome]) -> None:
        """Write what came of runs, and give up their claims.

        Where others took this driver for dead, what they have or did is left to them.
        """
        mine = [outcome for outcome in outcomes if self._may_write(outcome.record.key)]
        self._store.write_all((outcome.record, outcome.predictions) for outcome in mine)
        finished = (o.record.key for o in mine if o.record.status != "failed")
        discard(self._store.folder / FOLDER, finished)
        for outcome in outcomes:
            self._claims.release(outcome.record.key)

    def _claimed(self, task: Task) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
        """Return the runs of a task that this driver has now, and those that others have."""
        mine: list[Run] = []
        others: list[Run] = []
        for run in task.runs:
            if not self._claims.take(run.key):
                others.append(run)
            elif self._done(run.key):
                self._claims.release(run.key)
                self._audience.done_by_other_driver(1)
            else:
                mine.append(run)
        return tuple(mine), tuple(others)

    def _may_write(self, key: str) -> bool:
        if self._claims.holds(key):
            return True
        return self._claims.take(key) and not self._done(key)

    def _done(self, key: str) -> bool:
        """Return whether the run was carried out since the plan was made."""
        record = self._store.read(key)
        before = self._planned.before.get(key)
        return record is not None and record.provenance.get("finished") != before

    def _say_who_has(self, tasks: Sequence[Task]) -> None:
        runs = sum(len(task.runs) for task in tasks)
        others = ", ".join(self._claims.others()) or "drivers that are silent"
        line = f"Waiting for {runs} {'run' if runs == 1 else 'runs'} of {others}"
        if line != self._said:
            self._said = line
            self._audience.waiting(line)
