"""The main loop of a worker process, which runs tasks."""

import faulthandler
import functools
import os
import pickle
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import AcceleratorError

from bnnbench.datasets.reading.withheld import withheld
from bnnbench.engine.run import devices
from bnnbench.engine.run.drafts import ToScore, scored
from bnnbench.engine.run.execute import draft, execute
from bnnbench.engine.run.guards import canary, write_faults
from bnnbench.engine.run.outcomes import packed_state
from bnnbench.engine.run.rows import ServedRows
from bnnbench.engine.run.sandbox.sandbox import Sandbox, SandboxUnavailable
from bnnbench.engine.run.states import State
from bnnbench.engine.run.task import Task
from bnnbench.engine.workers import reports, subprocesses
from bnnbench.engine.workers.answers.answering import Nursery
from bnnbench.engine.workers.answers.asked import asked_apart
from bnnbench.engine.workers.base import device_failed, prepare_process
from bnnbench.engine.workers.channel import Channel, Plain
from bnnbench.engine.workers.interpreter import end_with_the_driver
from bnnbench.methods.fitting.progress import Listener

SECONDS_BETWEEN_REPORTS = 0.1


@dataclass(frozen=True)
class Apart:
    """A task for an isolated process."""

    device: str
    task: bytes
    """The task's pickle, which that process opens only after its training rows have come."""


def work(
    end: socket.socket,
    crashes: socket.socket,
    data: socket.socket | None,
    sandbox: Sandbox | None,
) -> None:
    """Run incoming tasks until the channel closes or a task has changed the process's results.

    Python writes the place of a fatal error to `crashes`. If `data` leads to a data server, this
    process drafts one task with the rows that it serves, confined to a sandbox if there is one.
    """
    subprocesses.become_group_leader()
    channel = Channel(end)
    if sandbox:
        try:
            sandbox.confine()
        except SandboxUnavailable as error:
            return channel.tell(reports.failure(error))
    crashes.setblocking(False)
    faulthandler.enable(crashes.fileno())
    if data:
        write_faults.mark_writes(crashes.fileno())
    prepare_process()
    nursery = None if data else Nursery()  # before this process holds any data
    canary.expected()
    end_with_the_driver()
    server = Channel(data) if data else None
    while True:
        try:
            task = channel.receive()
        except EOFError:
            return
        try:
            if isinstance(task, Apart):
                assert server
                report = _drafts(task, channel, server)
            elif isinstance(task, ToScore):
                assert nursery
                channel.tell(reports.begun())
                born = functools.partial(nursery.born, task.task.sandbox)
                outcomes = scored(task, functools.partial(asked_apart, born))
                report = reports.results(outcomes, last=False)
            else:
                report = _results(task, channel)
        except AcceleratorError as error:
            report = reports.broken(device_failed(error))
        except Exception as error:
            report = reports.failure(error)
        channel.tell(report)


def _results(task: Task, channel: Channel) -> Plain:
    """Return the report of a task's results."""
    channel.tell(reports.begun())
    outcomes = execute(task, _listener(channel))
    return reports.results(outcomes, last=canary.has_process_changed())


def _drafts(apart: Apart, channel: Channel, server: Channel) -> Plain:
    """Return the report of the drafts of a task whose rows are served.

    The driver believes errors until the task has begun: third-party code runs only then.
    """

    def hand_over(states: Sequence[State]) -> list[State]:
        packed = reports.small_enough([packed_state(state, task) for state in states])
        channel.tell(reports.predictions(packed))
        channel.receive()
        return [one.state for one in packed]

    with devices.used(apart.device):
        rows = ServedRows(functools.partial(_ask, server), hand_over)
    channel.tell(reports.begun())
    with withheld():
        task: Task = pickle.loads(apart.task)  # imports the method
        return reports.drafts(draft(task, _listener(channel), rows))


def _listener(channel: Channel) -> Listener:
    return throttled(lambda *report: channel.tell(reports.progress(*report)))


def _ask(server: Channel, *question: object) -> Any:
    """Return the data server's answer; this process ends if the server has ended or refuses."""
    try:
        server.tell(Plain(list(question)))
        answer = server.receive()
    except (EOFError, OSError):
        print("the data server has ended", file=sys.stderr, flush=True)
        os._exit(1)
    if isinstance(answer, Exception):
        raise answer
    return answer


def throttled(
    listener: Listener,
    clock: Callable[[], float] = time.monotonic,
    pause: float = SECONDS_BETWEEN_REPORTS,
) -> Listener:
    """Return a listener that passes on a report every `pause` seconds, and always the last."""
    latest = -pause

    def listen(done: int, total: int, loss: float) -> None:
        nonlocal latest
        if done >= total or clock() - latest >= pause:
            latest = clock()
            listener(done, total, loss)

    return listen
