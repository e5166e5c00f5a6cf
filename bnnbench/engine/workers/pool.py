"""A pool of processes for functions of this project, whose answers are trusted."""

import copy
import os
import pickle
import signal
import socket
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from bnnbench.engine.workers import subprocesses
from bnnbench.engine.workers.channel import Channel
from bnnbench.engine.workers.children import Child, started
from bnnbench.engine.workers.interpreter import end_with_the_driver


class NotSent(RuntimeError):
    """The error or the result of a call cannot be pickled; the message has the error's text."""


class Pool(ThreadPoolExecutor):
    """Calls functions in processes, of which at most `workers` run at once.

    Each call has a process of its own; one that ends without an answer raises `BrokenExecutor`. An
    error whose class cannot be sent, or a result that cannot, raises `NotSent`. An error or an
    interrupt in the `with` block ends all processes, also those that are just starting.
    """

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self._running: set[Child] = set()
        self._over, self._lock = False, threading.Lock()

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> "Future[Any]":  # pyright: ignore
        return super().submit(self._answer, function, arguments)

    def __exit__(self, kind: type | None, *rest: Any) -> None:
        if kind is not None:
            self.shutdown(wait=False, cancel_futures=True)
            with self._lock:
                self._over, running = True, [*self._running]
            for child in running:
                _end(child)
        super().__exit__(kind, *rest)

    def _answer(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        ours, theirs = Channel.pair()
        with theirs.socket:
            child = started(_call, theirs.socket, function, arguments)
        with self._lock:
            self._running.add(child)
            over = self._over
        if over:
            _end(child)
        try:
            value, error = ours.receive()
        except EOFError as reason:
            raise BrokenExecutor("a process ended before it answered") from reason
        finally:
            with self._lock:
                self._running.discard(child)
            child.join()
            ours.close()
        if error is not None:
            raise error
        return value


def _end(child: Child) -> None:
    """Kill a process and its tree; it may not lead a session yet."""
    subprocesses.end(child.pid, subprocesses.descendants(child.pid))
    with suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGKILL)


def _call(end: socket.socket, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    subprocesses.become_group_leader()
    end_with_the_driver()
    try:
        outcome = function(*arguments), None
    except Exception as error:
        outcome = None, error
    with suppress(OSError):
        Channel(end).forward(_pickled(*outcome))


def _pickled(value: Any, error: Exception | None) -> bytes:
    """Return the pickle of an outcome, or of the reason why there is none."""
    try:
        content = pickle.dumps((value, error))
        if error is not None:
            copy.copy(error)  # made anew, as from its pickle; its class may refuse to be
    except Exception as reason:
        what = error or reason
        sent = NotSent(f"{'its result: ' if error is None else ''}{type(what).__name__}: {what}")
        return pickle.dumps((None, sent))
    return content
