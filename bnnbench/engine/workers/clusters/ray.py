"""Workers on the machines of a Ray cluster; a lost machine's tasks move to another."""

import functools
import os
import re
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bnnbench.engine.run.task import Task
from bnnbench.engine.workers import VISIBLE, Gpu, Limits, Settings
from bnnbench.engine.workers.base import (
    PAUSE_SECONDS,
    Attempt,
    ExecutorUnavailable,
    Lost,
    Result,
    RetryQueue,
    Watcher,
)
from bnnbench.engine.workers.child import throttled
from bnnbench.engine.workers.clusters import REMEDY, Parcel
from bnnbench.engine.workers.clusters.ray_cluster import Patience, connected, machines_of
from bnnbench.engine.workers.worker import Message, Worker
from bnnbench.methods import own_files

SECONDS_BETWEEN_REPORTS = 1.0

FALSE_STARTS = 5
"""Number of consecutive workers ending before they are ready that is no accident."""

_COLOUR = re.compile(r"\x1b\[\d+m")


class Host:
    """An actor with one core of a machine and a share of its GPU, which has a worker there.

    The worker is a separate process, so that limits are enforced and its death has a reason. It
    chooses the device of its fits, as the driver's machine may have another.
    """

    def __init__(self, limits: Limits, isolate: bool, gpus: float) -> None:
        import ray

        visible = ",".join(map(str, ray.get_gpu_ids()))
        os.environ[VISIBLE] = visible  # Ray hides no GPU from an actor without one
        own_files.make_absolute()
        gpu = Gpu(visible, min(gpus, 1.0)) if gpus else None
        self._worker = Worker(limits, isolate, gpu)

    def ready(self) -> None:
        """Return once the actor exists; its process starts with its first task."""

    def execute(self, parcel: Parcel) -> Iterator[Message]:
        """Yield the messages of a task, the last of which is its termination."""
        try:
            task = parcel.opened()
        except ExecutorUnavailable as error:
            yield "error", error
            return
        reports: deque[Message] = deque()
        listen = throttled(
            lambda *report: reports.append(("progress", report)), pause=SECONDS_BETWEEN_REPORTS
        )
        for event, content in self._worker.messages(task):
            if event == "progress":
                listen(*content)
            else:
                reports.append((event, content))
            while reports:
                yield reports.popleft()


@dataclass
class _Hired:
    """An actor and its pending reply: that it is ready, or the next message of its task."""

    actor: Any
    awaited: Any
    ready: bool = False
    attempt: Attempt | None = None


@dataclass(frozen=True)
class Ray:
    """Runs tasks on `settings.workers` hosts at once."""

    settings: Settings

    def map(self, tasks: Iterable[Task | None], watcher: Watcher) -> Generator[Result, None, None]:
        """Return the result of every task, in the order in which they finish."""
        queue = RetryQueue(tasks, watcher)
        patience = Patience(self.settings, watcher)
        with connected(self.settings) as ray:
            crew = [_hire(ray, self.settings) for _ in range(self.settings.workers)]
            false_starts = 0
            try:
                while True:
                    ready = any(hired.ready for hired in crew)
                    patience.check(functools.partial(machines_of, ray), ready)
                    for hired in crew:
                        if hired.ready and not hired.attempt and (attempt := queue.next()):
                            _assign(hired, attempt)
                            watcher.started(attempt.task)
                    if queue.over and not any(hired.attempt for hired in crew):
                        return
                    for hired in _with_reply(ray, crew):
                        event, content = _message(ray, hired)
                        attempt = hired.attempt
                        if event == "ready":
                            false_starts = 0
                        elif event == "gone":
                            false_starts += not hired.ready
                            if false_starts == FALSE_STARTS:
                                raise ExecutorUnavailable(
                                    f"Ray's workers end as they start: {content.reason}; {REMEDY}"
                                )
                            crew[crew.index(hired)] = _hire(ray, self.settings)
                        if attempt and event == "progress":
                            watcher.progressed(attempt.task, *content)
                        elif attempt:
                            hired.attempt = hired.awaited = None
                            yield from queue.complete_or_requeue(attempt, (event, content))
            finally:
                for hired in crew:
                    with suppress(Exception):  # the cluster may be gone
                        ray.kill(hired.actor)


def _hire(ray: Any, settings: Settings) -> _Hired:
    """Return a new actor, which Ray starts as soon as there is room."""
    options: dict[str, Any] = {"num_cpus": 1, "num_gpus": settings.gpus}
    if settings.limits.bytes:
        options["memory"] = settings.limits.bytes
    actor = ray.remote(**options)(Host).remote(settings.limits, settings.isolate, settings.gpus)
    return _Hired(actor, actor.ready.remote())


def _assign(hired: _Hired, attempt: Attempt) -> None:
    parcel = Parcel.of(attempt.task)
    hired.attempt = attempt
    hired.awaited = hired.actor.execute.options(num_returns="streaming").remote(parcel)


def _with_reply(ray: Any, crew: list[_Hired]) -> list[_Hired]:
    """Return the actors with a reply, after waiting a while for the first."""
    awaited = [hired.awaited for hired in crew if hired.awaited is not None]
    if not awaited:
        time.sleep(PAUSE_SECONDS)
        return []
    replied, _ = ray.wait(awaited, num_returns=1, timeout=PAUSE_SECONDS, fetch_local=False)
    return [hired for hired in crew if any(hired.awaited is reply for reply in replied)]


def _message(ray: Any, hired: _Hired) -> tuple[Any, Any]:
    """Return the actor's reply: a message of the task, "ready", or "gone" with a `Lost`."""
    starting = not hired.ready
    try:
        if starting:
            ray.get(hired.awaited)
            hired.ready, hired.awaited = True, None
            return "ready", None
        return ray.get(next(hired.awaited))
    except StopIteration:
        return "gone", Lost("a task ended without a result")
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        return "gone", Lost(f"a worker of Ray was lost ({_line(error, -1 if starting else 0)})")


def _line(error: Exception, number: int) -> str:
    """Return a line of Ray's message: the first names what ended, the last why it did not start."""
    lines = _COLOUR.sub("", str(error)).strip().splitlines() or [type(error).__name__]
    return lines[number].rstrip(".:")
