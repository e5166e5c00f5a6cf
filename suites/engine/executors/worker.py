"""A worker process: it carries out tasks in turn, and is stopped where one exceeds a limit."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from bnnbench.methods.fitting.progress import Listener
from bnnbench.suites.engine.executors import Limits
from bnnbench.suites.engine.executors.base import prepare_process
from bnnbench.suites.engine.run import memory
from bnnbench.suites.engine.run.execute import Task, execute

Message = tuple[str, Any]
""""progress" with done, total, loss; else the ending of the task, see `turns.Ending`."""

TICK_SECONDS = 0.05
"""Seconds between checks of the limits."""

SECONDS_BETWEEN_REPORTS = 0.1

_DRIVERS_OWN = {signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2}
"""Signals that a terminal or a scheduler sends to all processes and only the driver handles."""

_SPAWN = multiprocessing.get_context("spawn")


class Worker:
    """A process of this machine and the driver's end of the pipe to it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._runs = 1
        self._since: float | None = None
        self.pipe, worker_end = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_work, args=(worker_end,), daemon=True)
        resource_tracker.ensure_running()  # starting it with the first worker unblocks signals
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _DRIVERS_OWN)
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        worker_end.close()  # so that the worker's death ends the pipe

    def assign(self, task: Task) -> None:
        """Send the task; a dead worker is noticed when its answer is awaited."""
        self._runs, self._since = len(task.runs), None
        if self._limits.bytes and self._process.pid:
            memory.reset_high_water_mark(self._process.pid)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(task)

    def message(self, readable: bool) -> Message | None:
        """Return the worker's message if its pipe is readable, else its ending if stopped."""
        if not readable:
            return self._stopped()
        try:
            event, content = self.pipe.recv()
        except (EOFError, OSError):
            self._process.join(10)
            code = self._process.exitcode
            self.dismiss()
            return "died", _ending(code)
        if event == "begun":
            self._since = time.monotonic()
            return None
        return event, content

    def messages(self, task: Task, waiting: Callable[[], None] = lambda: None) -> Iterator[Message]:
        """Carry out one task, and yield its messages, the last of which is its ending."""
        self.assign(task)
        while True:
            if message := self.message(self.pipe.poll(TICK_SECONDS)):
                yield message
                if message[0] != "progress":
                    return
            waiting()

    def dismiss(self) -> None:
        """Close the pipe, which ends an idle worker, and wait for its process to end."""
        self.pipe.close()
        self._process.join(10)
        self._kill()

    @property
    def lives(self) -> bool:
        """True if the worker can be given another task."""
        return not self.pipe.closed

    def terminate(self) -> None:
        """Ask the process to end, whatever it does."""
        self._process.terminate()

    def _kill(self) -> None:
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _stopped(self) -> Message | None:
        """Kill the process if its task exceeds a limit, and return the message that says so."""
        if self._since is None:
            return None
        limits, message = self._limits, None
        if limits.seconds and time.monotonic() - self._since > limits.seconds * self._runs:
            message = "late", _too_long(limits.seconds, self._runs)
        pid = self._process.pid
        if limits.bytes and pid and memory.high_water_mark(pid) > limits.bytes:
            message = "died", f"needed more than {memory.in_words(limits.bytes)} of memory"
        if message:
            self._kill()
            self.dismiss()
        return message


def _too_long(seconds: float, runs: int) -> str:
    per_run = f" for each of {runs} runs fitted together" if runs > 1 else ""
    return f"ran longer than {seconds:g} s{per_run}"


def _ending(code: int | None) -> str:
    """Return a sentence on how a process ended."""
    if code is None:
        return "the worker closed its pipe"
    if code < 0:
        name = signal.Signals(-code).name
        hint = " (out of memory?)" if -code == signal.SIGKILL else ""
        return f"the worker was killed by {name}{hint}"
    return f"the worker exited with code {code}"


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
            pipe.send(("begun", None))
            listener = throttled(lambda *report: pipe.send(("progress", report)))
            message = ("done", execute(task, listener))
        except Exception as error:
            message = ("error", _portable(error))
        pipe.send(message)


def _die_with_the_driver() -> None:
    """End this process when the driver ends, even by a signal that it could not handle."""
    driver = multiprocessing.parent_process()
    assert driver is not None
    driver.join()
    os._exit(1)


def _portable(error: Exception) -> Exception:
    """Return the error with its traceback as a note, or as text where it cannot be pickled."""
    text = traceback.format_exc()
    error.add_note(f"In a worker process:\n{text}")
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(text)


def throttled(
    listener: Listener,
    clock: Callable[[], float] = time.monotonic,
    pause: float = SECONDS_BETWEEN_REPORTS,
) -> Listener:
    """Return a listener that passes on a report every `pause` seconds, and the last."""
    latest = -pause

    def listen(done: int, total: int, loss: float) -> None:
        nonlocal latest
        if done >= total or clock() - latest >= pause:
            latest = clock()
            listener(done, total, loss)

    return listen
