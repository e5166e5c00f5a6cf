"""A pool of processes for functions of this project, whose answers are trusted."""

import socket
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from bnnbench.engine.workers import subprocesses
from bnnbench.engine.workers.channel import Channel
from bnnbench.engine.workers.children import Child, started


class Pool(ThreadPoolExecutor):
    """Calls functions in processes, of which at most `workers` run at once.

    Each call has a process of its own; one that ends without an answer raises `BrokenExecutor`. An
    error or an interrupt in the `with` block ends all processes.
    """

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self._running: set[Child] = set()

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> "Future[Any]":  # pyright: ignore
        return super().submit(self._answer, function, arguments)

    def __exit__(self, kind: type | None, *rest: Any) -> None:
        if kind is not None:
            self.shutdown(wait=False, cancel_futures=True)
            for child in [*self._running]:
                subprocesses.end(child.pid, subprocesses.descendants(child.pid))
        super().__exit__(kind, *rest)

    def _answer(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        ours, theirs = Channel.pair()
        with theirs.socket:
            child = started(_call, theirs.socket, function, arguments)
        self._running.add(child)
        try:
            value, error = ours.receive()
        except EOFError as reason:
            raise BrokenExecutor("a process ended before it answered") from reason
        finally:
            child.join()
            self._running.discard(child)
            ours.close()
        if error is not None:
            raise error
        return value


def _call(end: socket.socket, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    subprocesses.become_group_leader()
    try:
        outcome = function(*arguments), None
    except Exception as error:
        outcome = None, error
    with suppress(OSError):
        Channel(end).send(outcome)
