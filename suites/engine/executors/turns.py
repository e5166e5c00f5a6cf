"""Tasks in the order in which they are handed out, those that must go again first."""

import pickle
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from bnnbench.suites.engine.executors.base import ExecutorUnavailable, Lost, Result, Watcher
from bnnbench.suites.engine.run.execute import Task

ATTEMPTS = 2
"""A run whose process dies starts again in a fresh one, this often in all."""

MOVES = 10
"""A task whose machine is lost goes to another one, this often at most."""

Ending = tuple[str, Any]
"""done: outcomes. error: an exception. died: a process ended or took too much memory. late: it
ran too long. gone: the machine was lost, which is not the task's fault. All with the reason."""


@dataclass(frozen=True)
class Turn:
    """A task and which attempt at it this is."""

    task: Task
    attempt: int = 1


class Turns:
    """What is left to hand out, and what becomes of it.

    None among the tasks says that nothing is to be had just now.
    """

    def __init__(self, tasks: Iterable[Task | None], watcher: Watcher) -> None:
        self._tasks = iter(tasks)
        self._again: deque[Turn] = deque()
        self._moves: Counter[Turn] = Counter()
        self._watcher = watcher
        self._over = False

    @property
    def over(self) -> bool:
        """Whether no turn will come any more, unless a task that is handed out is lost."""
        return self._over and not self._again

    def next(self) -> Turn | None:
        """Return the next turn, or None where there is none just now."""
        if self._again:
            return self._again.popleft()
        try:
            task = next(self._tasks)
        except StopIteration:
            self._over = True
            return None
        return task and Turn(task)

    def settle(self, turn: Turn, ending: Ending) -> list[Result]:
        """Return the result of a turn, if it has one and does not go again; raises errors."""
        kind, content = ending
        if kind == "error":
            raise content
        if kind == "done":
            return [(turn.task, content)]
        again = {"died": self._once_more, "late": _never, "gone": self._elsewhere}[kind]
        if how := again(turn):
            self._watcher.lost(turn.task, f"{content}; {how}")
            return []
        return [(turn.task, Lost(content))]

    def _once_more(self, turn: Turn) -> str | None:
        """Runs that were fitted together go one by one, so that the one to blame falls alone."""
        if turn.attempt >= ATTEMPTS:
            return None
        alone = [Turn(replace(turn.task, runs=(r,)), turn.attempt + 1) for r in turn.task.runs]
        self._again.extendleft(reversed(alone))
        return "trying its runs one by one" if len(alone) > 1 else "trying once more"

    def _elsewhere(self, turn: Turn) -> str | None:
        self._moves[turn] += 1
        if self._moves[turn] > MOVES:
            return None
        self._again.appendleft(turn)
        return "trying elsewhere"


def _never(turn: Turn) -> None:
    """A run that took too long would do so again."""


def check_that_it_travels(task: Task) -> None:
    """Raise `ExecutorUnavailable` for a task that processes of another program could not read."""
    if b"__main__" in pickle.dumps(task):
        raise ExecutorUnavailable(
            f"{task.name}: a class that is defined in the file that was started cannot be found "
            "by processes elsewhere; put it into a module, and import it"
        )
