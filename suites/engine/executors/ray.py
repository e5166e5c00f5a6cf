"""Workers on the machines of a Ray cluster; what a lost machine had goes to another one."""

import logging
import os
import signal
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from bnnbench.methods import own_files
from bnnbench.suites.engine.executors import Limits, Settings
from bnnbench.suites.engine.executors.base import (
    PAUSE_SECONDS,
    ExecutorUnavailable,
    Result,
    Watcher,
)
from bnnbench.suites.engine.executors.turns import Turn, Turns, check_that_it_travels
from bnnbench.suites.engine.executors.worker import Message, Worker, throttled
from bnnbench.suites.engine.run.execute import Task

SHARED = ("BNNBENCH_DATA", "BNNBENCH_OFFLINE", own_files.VARIABLE)
"""What a place takes over of the driver's environment."""

SECONDS_BETWEEN_REPORTS = 1.0

FALSE_STARTS = 5
"""So many places in a row that end before they are ready are no accident."""


class Place:
    """One core of a machine, and its share of a GPU: an actor that has a worker there.

    The worker is a process of its own, so that limits hold and its death has a reason.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._worker: Worker | None = None

    def ready(self) -> None:
        """Start the worker."""
        if self._worker is None or not self._worker.lives:
            self._worker = Worker(self._limits)

    def carry_out(self, task: Task) -> Iterator[Message]:
        """Yield what is heard of a task, the last of which is how it ended."""
        self.ready()
        assert self._worker
        reports: deque[Message] = deque()
        listen = throttled(
            lambda *report: reports.append(("progress", report)), pause=SECONDS_BETWEEN_REPORTS
        )
        for kind, content in self._worker.messages(task):
            if kind == "progress":
                listen(*content)
            else:
                reports.append((kind, content))
            while reports:
                yield reports.popleft()


@dataclass
class _Hired:
    """An actor and what is awaited of it: that it is ready, or the next message of its task."""

    actor: Any
    awaited: Any
    ready: bool = False
    turn: Turn | None = None


@dataclass(frozen=True)
class Ray:
    """Carries out tasks on `settings.workers` places at once."""

    settings: Settings

    def map(self, tasks: Iterable[Task | None], watcher: Watcher) -> Generator[Result, None, None]:
        """Return the result of every task, in the order in which they finish."""
        turns = Turns(tasks, watcher)
        with _cluster(self.settings) as ray:
            crew = [_hire(ray, self.settings) for _ in range(self.settings.workers)]
            false_starts = 0
            try:
                while True:
                    for hired in crew:
                        if hired.ready and not hired.turn and (turn := turns.next()):
                            _assign(hired, turn)
                            watcher.started(turn.task)
                    if turns.over and not any(hired.turn for hired in crew):
                        return
                    for hired in _heard(ray, crew):
                        kind, content = _message(ray, hired)
                        turn = hired.turn
                        if kind == "ready":
                            false_starts = 0
                        elif kind == "gone":
                            false_starts += not hired.ready
                            if false_starts == FALSE_STARTS:
                                raise ExecutorUnavailable(
                                    f"Ray's workers end as they start: {content}"
                                )
                            crew[crew.index(hired)] = _hire(ray, self.settings)
                        if turn and kind == "progress":
                            watcher.progressed(turn.task, *content)
                        elif turn:
                            hired.turn = hired.awaited = None
                            yield from turns.settle(turn, (kind, content))
            finally:
                for hired in crew:
                    with suppress(Exception):  # the cluster may be gone
                        ray.kill(hired.actor)


def _hire(ray: Any, settings: Settings) -> _Hired:
    """Return a new actor, which Ray starts where it finds room, perhaps later."""
    options: dict[str, Any] = {"num_cpus": 1, "num_gpus": settings.gpus}
    if settings.limits.bytes:
        options["memory"] = settings.limits.bytes
    actor = ray.remote(**options)(Place).remote(settings.limits)
    return _Hired(actor, actor.ready.remote())


def _assign(hired: _Hired, turn: Turn) -> None:
    check_that_it_travels(turn.task)
    hired.turn = turn
    hired.awaited = hired.actor.carry_out.options(num_returns="streaming").remote(turn.task)


def _heard(ray: Any, crew: list[_Hired]) -> list[_Hired]:
    """Return those of whom something is to be heard, after waiting for the first a while."""
    awaited = [hired.awaited for hired in crew if hired.awaited is not None]
    if not awaited:
        time.sleep(PAUSE_SECONDS)
        return []
    found, _ = ray.wait(awaited, num_returns=1, timeout=PAUSE_SECONDS, fetch_local=False)
    return [hired for hired in crew if any(hired.awaited is one for one in found)]


def _message(ray: Any, hired: _Hired) -> tuple[Any, Any]:
    """Return what is heard: a message of the task, "ready", or "gone" with the reason."""
    try:
        if not hired.ready:
            ray.get(hired.awaited)
            hired.ready, hired.awaited = True, None
            return "ready", None
        return ray.get(next(hired.awaited))
    except StopIteration:
        return "gone", "a task ended without a result"
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        return "gone", f"a worker of Ray was lost ({_first_line(error)})"


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".:")


@contextmanager
def _cluster(settings: Settings) -> Iterator[Any]:
    """Connect to the cluster, or start one on this machine, and give up what was begun."""
    import ray

    shared = {name: os.environ[name] for name in SHARED if os.environ.get(name)}
    local = {"num_cpus": settings.workers, "include_dashboard": False}
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        ray.init(
            address=settings.address or "local",
            runtime_env={"env_vars": shared | {"OMP_NUM_THREADS": "1"}},
            log_to_driver=False,
            logging_level=logging.ERROR,
            **({} if settings.address else local),
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ExecutorUnavailable(
            f"no Ray cluster at --address {settings.address}: {error}"
        ) from error
    for number, handler in handlers.items():  # Ray would end this process with no word
        signal.signal(number, handler)
    try:
        _check_resources(ray, settings)
        yield ray
    finally:
        ray.shutdown()


def _check_resources(ray: Any, settings: Settings) -> None:
    """Raise `ExecutorUnavailable` unless one machine of the cluster can have a worker."""
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    wanted = {"CPU": 1.0, "GPU": settings.gpus, "memory": float(settings.limits.bytes or 0)}
    if not any(all(has.get(n, 0.0) >= wanted[n] for n in wanted) for has in machines):
        asked = ", ".join(f"{amount:g} {name}" for name, amount in wanted.items() if amount)
        raise ExecutorUnavailable(f"no machine of the Ray cluster has what a worker needs: {asked}")
