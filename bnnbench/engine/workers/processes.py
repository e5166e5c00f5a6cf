"""Worker processes on this machine; the death of one costs only its run."""

import socket
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from multiprocessing.connection import wait

from bnnbench.engine.run.task import Task
from bnnbench.engine.workers import Settings
from bnnbench.engine.workers.base import PAUSE_SECONDS, Result, Watcher
from bnnbench.engine.workers.gpus import gpu_of
from bnnbench.engine.workers.retry_queue import Attempt, RetryQueue
from bnnbench.engine.workers.worker import TICK_SECONDS, Worker


@dataclass(frozen=True)
class Processes:
    """Runs tasks in `settings.workers` processes at once."""

    settings: Settings

    def map(self, tasks: Iterable[Task | None], watcher: Watcher) -> Generator[Result, None, None]:
        """Return the result of every task, in the order in which they finish."""
        queue = RetryQueue(tasks, watcher)
        busy: dict[socket.socket, tuple[Worker, Attempt]] = {}
        idle: list[Worker] = []
        finished: list[Result] = []
        try:
            while True:
                while len(busy) < self.settings.workers and (attempt := queue.next()):
                    worker = idle.pop() if idle else self._worker(len(busy))
                    worker.assign(attempt.task)
                    busy[worker.channel.socket] = (worker, attempt)
                    watcher.started(attempt.task)
                yield from finished
                finished.clear()
                if not busy and queue.over:
                    return
                if not busy:
                    time.sleep(PAUSE_SECONDS)
                readable = wait(list(busy), self._patience(queue, len(busy)))
                for end, (worker, attempt) in list(busy.items()):
                    match worker.message(end in readable):
                        case None:
                            pass
                        case "progress", report:
                            watcher.progressed(attempt.task, *report)
                        case termination:
                            del busy[end]
                            idle.append(worker)
                            finished += queue.complete_or_requeue(attempt, termination)
        finally:
            crew = [*idle, *(worker for worker, _ in busy.values())]
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
