"""Executors on this machine: in this process, or in several worker processes."""

import functools
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace
from multiprocessing.connection import wait

from torch import AcceleratorError

from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.guards import canary
from bnnbench.engine.run.task import Task
from bnnbench.engine.workers import Limits, Settings, gpu_of
from bnnbench.engine.workers.base import (
    PAUSE_SECONDS,
    Attempt,
    Result,
    RetryQueue,
    Termination,
    Watcher,
    device_failed,
    prepare_process,
)
from bnnbench.engine.workers.worker import TICK_SECONDS, Worker


@dataclass(frozen=True)
class Serial:
    """Runs tasks in order. A fatal error ends the whole suite, so there are no limits."""

    settings: Settings

    def __post_init__(self) -> None:
        if self.settings.limits:
            raise ValueError(
                "the serial executor has no limits, because a process cannot stop itself"
            )

    def map(self, tasks: Iterable[Task | None], watcher: Watcher) -> Generator[Result, None, None]:
        """Return the result of every task, in order."""
        prepare_process()
        canary.expected()
        queue, worker = RetryQueue(tasks, watcher), Worker(Limits())
        try:
            while True:
                if attempt := queue.next():
                    watcher.started(attempt.task)
                    yield from queue.complete_or_requeue(
                        attempt, self._termination(attempt, worker, watcher)
                    )
                elif queue.over:
                    return
                else:
                    time.sleep(PAUSE_SECONDS)
        finally:
            worker.terminate()
            worker.dismiss()

    def _termination(self, attempt: Attempt, worker: Worker, watcher: Watcher) -> Termination:
        """Run a task in the right process, and return its termination."""
        listener = functools.partial(watcher.progressed, attempt.task)
        isolated = self.settings.isolate and attempt.task.has_third_party_code
        if not (isolated or canary.has_process_changed() or attempt.number > 1):
            try:
                task = replace(attempt.task, in_process=not self.settings.isolate)
                return "done", execute(task, listener)
            except AcceleratorError as error:
                return "died", device_failed(error)
        for event, content in worker.messages(attempt.task):
            if event != "progress":
                return event, content
            listener(*content)
        raise AssertionError("every task has a termination")


@dataclass(frozen=True)
class Processes:
    """Runs tasks in `settings.workers` processes at once."""

    settings: Settings

    def map(self, tasks: Iterable[Task | None], watcher: Watcher) -> Generator[Result, None, None]:
        """Return the result of every task, in the order in which they finish."""
        queue = RetryQueue(tasks, watcher)
        busy: list[tuple[Worker, Attempt]] = []
        idle: list[Worker] = []
        finished: list[Result] = []
        try:
            while True:
                while len(busy) < self.settings.workers and (attempt := queue.next()):
                    worker = idle.pop() if idle else self._worker(len(busy))
                    busy.append((worker, attempt))
                    worker.assign(attempt.task)
                    watcher.started(attempt.task)
                yield from finished
                finished.clear()
                if not busy and queue.over:
                    return
                if not busy:
                    time.sleep(PAUSE_SECONDS)
                ends = [worker.channel.socket for worker, _ in busy]
                readable = wait(ends, self._patience(queue, len(busy)))
                for end, (worker, attempt) in zip(ends, [*busy], strict=True):
                    match worker.message(end in readable):
                        case None:
                            pass
                        case "progress", report:
                            watcher.progressed(attempt.task, *report)
                        case termination:
                            busy.remove((worker, attempt))
                            idle.append(worker)
                            finished += queue.complete_or_requeue(attempt, termination)
        finally:
            crew = [*idle, *(worker for worker, _ in busy)]
            for worker in crew:
                worker.terminate()
            for worker in crew:
                worker.dismiss()

    def _worker(self, number: int) -> Worker:
        gpu = gpu_of(number, self.settings.workers, self.settings.devices)
        return Worker(self.settings.limits, self.settings.isolate, gpu)

    def _patience(self, queue: RetryQueue, busy: int) -> float | None:
        """Return the seconds to listen before checking limits and new tasks; None for no limit."""
        if self.settings.limits:
            return TICK_SECONDS
        waiting = busy < self.settings.workers and not queue.over
        return PAUSE_SECONDS if waiting else None
