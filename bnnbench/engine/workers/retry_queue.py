"""Tasks in the order in which they are handed out; those to be repeated come first."""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from bnnbench.engine.run.task import Task
from bnnbench.engine.workers.base import Result, Watcher

ATTEMPTS = 2
"""Largest number of attempts at a run whose process dies; each has a fresh process."""

MOVES = 10
"""Largest number of times that a task whose machine or data are lost goes elsewhere."""

Ending = tuple[str, Any]
"""done: outcomes. error: an exception. The others have a `Lost`. died: a process ended or took too
much memory. stopped: it ran too long, or wrote into its data. gone: the machine, or the process
with its data, was lost, which is not the task's fault."""


@dataclass(frozen=True)
class Turn:
    """A task and the number of the attempt."""

    task: Task
    attempt: int = 1


class Turns:
    """The tasks to hand out, and their endings.

    None among the tasks means that there is none at present.
    """

    def __init__(self, tasks: Iterable[Task | None], watcher: Watcher) -> None:
        self._tasks = iter(tasks)
        self._again: deque[Turn] = deque()
        self._moves: Counter[Turn] = Counter()
        self._watcher = watcher
        self._over = False

    @property
    def over(self) -> bool:
        """True if no turn is to come, unless a task that was handed out is lost."""
        return self._over and not self._again

    def next(self) -> Turn | None:
        """Return the next turn, or None where there is none at present."""
        if self._again:
            return self._again.popleft()
        try:
            task = next(self._tasks)
        except StopIteration:
            self._over = True
            return None
        return task and Turn(task)

    def settle(self, turn: Turn, ending: Ending) -> list[Result]:
        """Return the result of a turn, or none if its task is repeated; raises its error."""
        event, content = ending
        if event == "error":
            raise content
        if event == "done":
            return [(turn.task, content)]
        retry = {"died": self._once_more, "stopped": _never, "gone": self._elsewhere}[event]
        if plan := retry(turn):
            self._watcher.lost(turn.task, f"{content.reason}; {plan}")
            return []
        return [(turn.task, content)]

    def _once_more(self, turn: Turn) -> str | None:
        """Repeat the runs one by one, so that only the one that kills its process is lost."""
        if turn.attempt >= ATTEMPTS:
            return None
        single_runs = [
            Turn(replace(turn.task, runs=(r,)), turn.attempt + 1) for r in turn.task.runs
        ]
        self._again.extendleft(reversed(single_runs))
        return "trying its runs one by one" if len(single_runs) > 1 else "trying once more"

    def _elsewhere(self, turn: Turn) -> str | None:
        self._moves[turn] += 1
        if self._moves[turn] > MOVES:
            return None
        self._again.appendleft(turn)
        return "trying elsewhere"


def _never(turn: Turn) -> None:
    """Return None: such a run would end so again."""
