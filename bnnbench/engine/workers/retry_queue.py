"""A task queue that serves retries first."""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from bnnbench.engine.run.execute import Task
from bnnbench.engine.workers.base import Result, Watcher

ATTEMPTS = 2
"""Maximum number of attempts at a run whose process dies; each has a fresh process."""

MOVES = 10
"""Maximum number of moves to another worker after a machine or its data server is lost."""

Ending = tuple[str, Any]
"""done: outcomes. error: an exception. The others have a `Lost`. died: a process ended or used too
much memory. stopped: it ran too long, or wrote to its data. gone: the machine or the data server
was lost, which is not the task's fault."""


@dataclass(frozen=True)
class Turn:
    """A task and the number of the attempt."""

    task: Task
    attempt: int = 1


class Turns:
    """The tasks to be run, and their terminations.

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
        """True if no attempt is left, unless a running task is lost."""
        return self._over and not self._again

    def next(self) -> Turn | None:
        """Return the next attempt; None if there is none at present."""
        if self._again:
            return self._again.popleft()
        try:
            task = next(self._tasks)
        except StopIteration:
            self._over = True
            return None
        return task and Turn(task)

    def settle(self, turn: Turn, ending: Ending) -> list[Result]:
        """Return the result of an attempt, or none if its task is requeued; raise its error."""
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
        """Requeue the runs one by one, so that only the run that kills its process is lost."""
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
    """Return None: such a run would end the same way again."""
