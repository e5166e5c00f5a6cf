"""Worker processes on this machine; one that dies costs its task and nothing else."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from methods.progress import Listener
from suites.engine.execute import Task, execute
from suites.engine.executors import Lost, Result, Watcher, prepare_process

ATTEMPTS = 2
"""A task whose worker dies starts again in a fresh one, this often in all."""

SECONDS_BETWEEN_REPORTS = 0.1

_SPAWN = multiprocessing.get_context("spawn")


@dataclass
class _Worker:
    """A process, this end of the pipe to it, and what it is busy with."""

    process: Any
    pipe: Connection
    task: Task
    attempt: int


@dataclass(frozen=True)
class Processes:
    """Carries out tasks in `workers` processes at once."""

    workers: int

    def map(self, tasks: Sequence[Task], watcher: Watcher) -> Generator[Result, None, None]:
        """Return the result of every task, in the order in which they finish."""
        queue = deque((task, 1) for task in tasks)
        crew: dict[Connection, _Worker] = {}

        def hire() -> None:
            worker = _start(*queue.popleft())
            crew[worker.pipe] = worker
            watcher.started(worker.task)

        try:
            while queue and len(crew) < self.workers:
                hire()
            while crew:
                for pipe in wait(list(crew)):
                    assert isinstance(pipe, Connection)
                    worker = crew[pipe]
                    match _receive(worker):
                        case "progress", report:
                            watcher.progressed(worker.task, *report)
                        case "done", outcomes:
                            task = worker.task
                            if queue:
                                _assign(worker, *queue.popleft())
                                watcher.started(worker.task)
                            else:
                                _dismiss(crew.pop(pipe))
                            yield task, outcomes
                        case "error", error:
                            raise error
                        case "died", reason:
                            _dismiss(crew.pop(pipe))
                            again = worker.attempt < ATTEMPTS
                            if again:
                                queue.appendleft((worker.task, worker.attempt + 1))
                                watcher.lost(worker.task, reason)
                            if queue:
                                hire()
                            if not again:
                                yield worker.task, Lost(reason)
        finally:
            for worker in crew.values():
                worker.process.terminate()
            for worker in crew.values():
                _dismiss(worker)


def _start(task: Task, attempt: int) -> _Worker:
    """Return a new worker that is busy with `task`.

    Ctrl-C is blocked while it starts and so for its life: the driver alone decides.
    """
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_work, args=(theirs,), daemon=True)
    resource_tracker.ensure_running()  # it would unblock Ctrl-C when the first worker starts it
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    theirs.close()  # so that the worker's death ends the pipe
    worker = _Worker(process, ours, task, attempt)
    _assign(worker, task, attempt)
    return worker


def _assign(worker: _Worker, task: Task, attempt: int) -> None:
    """Send the task; that a worker is dead shows when its answer is awaited."""
    worker.task, worker.attempt = task, attempt
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        worker.pipe.send(task)


def _receive(worker: _Worker) -> tuple[str, Any]:
    """Return the worker's next message, or what ended it."""
    try:
        return worker.pipe.recv()
    except (EOFError, OSError):
        worker.process.join(10)
        return "died", _ending(worker.process.exitcode)


def _ending(code: int | None) -> str:
    """Return in words how a process ended."""
    if code is None:
        return "the worker closed its pipe"
    if code < 0:
        name = signal.Signals(-code).name
        hint = " (out of memory?)" if -code == signal.SIGKILL else ""
        return f"the worker was killed by {name}{hint}"
    return f"the worker exited with code {code}"


def _dismiss(worker: _Worker) -> None:
    """Close the pipe, which ends an idle worker, and wait for the end."""
    worker.pipe.close()
    worker.process.join(10)
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()


def _work(pipe: Connection) -> None:
    """Carry out the tasks that come through the pipe until it ends."""
    prepare_process()
    threading.Thread(target=_die_with_the_driver, daemon=True).start()
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            listener = throttled(lambda *report: pipe.send(("progress", report)))
            message = ("done", execute(task, listener))
        except Exception as error:
            message = ("error", _portable(error))
        pipe.send(message)


def _die_with_the_driver() -> None:
    """End this process when the driver's ends, even by a signal that it could not handle."""
    driver = multiprocessing.parent_process()
    assert driver is not None
    driver.join()
    os._exit(1)


def _portable(error: Exception) -> Exception:
    """Return the error with its traceback as a note, or in words where it cannot travel."""
    text = traceback.format_exc()
    error.add_note(f"In a worker process:\n{text}")
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(text)


def throttled(listener: Listener, clock: Callable[[], float] = time.monotonic) -> Listener:
    """Return a listener that passes on ten reports a second, and the last."""
    latest = -SECONDS_BETWEEN_REPORTS

    def listen(done: int, total: int, loss: float) -> None:
        nonlocal latest
        if done >= total or clock() - latest >= SECONDS_BETWEEN_REPORTS:
            latest = clock()
            listener(done, total, loss)

    return listen
