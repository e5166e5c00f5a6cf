"""A task queue that serves retries first."""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from bnnbench.engine.run.task import Task
from bnnbench.engine.workers.base import Result, Watcher

ATTEMPTS = 2
"""Maximum number of attempts at a run whose process dies; each has a fresh process."""

MOVES = 10
"""Maximum number of moves to another worker after a machine or its data server is lost."""

Termination = tuple[str, Any]
"""done: outcomes. error: an exception. The others have a `Lost`. died: a process ended or used too
much memory. stopped: it ran too long, or wrote to its data. gone: the machine or the data server
was lost, which is not the task's fault."""


@dataclass(frozen=True)
class Attempt:
    """An attempt at a task, counted from 1."""

    task: Task
    number: int = 1


class RetryQueue:
    """The tasks to be run, and their terminations.

    None among the tasks means that there is none at present.
    """

    def __init__(self, tasks: Iterable[Task | None], watcher: Watcher) -> None:
        self._tasks = iter(tasks)
        self._retries: deque[Attempt] = deque()
        self._moves: Counter[Attempt] = Counter()
        self._watcher = watcher
        self._over = False

    @property
    def over(self) -> bool:
        """True if no attempt is left, unless a running task is lost."""
        return self._over and not self._retries

    def next(self) -> Attempt | None:
        """Return the next attempt; None if there is none at present."""
        if self._retries:
            return self._retries.popleft()
        try:
            task = next(self._tasks)
        except StopIteration:
            self._over = True
            return None
        return task and Attempt(task)

    def complete_or_requeue(self, attempt: Attempt, termination: Termination) -> list[Result]:
        """Return the result of an attempt, or none if its task is requeued; raise its error."""
        event, content = termination
        if event == "error":
            raise content
        if event == "done":
            return [(attempt.task, content)]
        retry = {"died": self._once_more, "stopped": _never, "gone": self._on_another_worker}[event]
        if plan := retry(attempt):
            self._watcher.lost(attempt.task, f"{content.reason}; {plan}")
            return []
        return [(attempt.task, content)]

    def _once_more(self, attempt: Attempt) -> str | None:
        """Requeue the runs one by one, so that only the run that kills its process is lost."""
        if attempt.number >= ATTEMPTS:
            return None
        single_runs = [
            Attempt(replace(attempt.task, runs=(r,)), attempt.number + 1) for r in attempt.task.runs
        ]
        self._retries.extendleft(reversed(single_runs))
        return "trying its runs one by one" if len(single_runs) > 1 else "trying once more"

    def _on_another_worker(self, attempt: Attempt) -> str | None:
        self._moves[attempt] += 1
        if self._moves[attempt] > MOVES:
            return None
        self._retries.appendleft(attempt)
        return "trying elsewhere"


def _never(attempt: Attempt) -> None:
    """Return None: such a run would end the same way again."""
