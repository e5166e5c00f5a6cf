"""Runs one task at a time, in a process that is stopped if it exceeds a limit."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.connection import wait
from typing import Any

from bnnbench.engine.declare.third_party import has_third_party_code
from bnnbench.engine.run.measuring import memory
from bnnbench.engine.run.task import Task
from bnnbench.engine.workers import Gpu, Limits, subprocesses
from bnnbench.engine.workers.base import Lost
from bnnbench.engine.workers.process import DataServerProcess, Process
from bnnbench.engine.workers.subprocesses import Channel

Message = tuple[str, Any]
""""progress" with done, total, loss; else the `base.Termination` of the task."""

TICK_SECONDS = 0.05
"""Seconds between checks of the limits."""

SECONDS_BETWEEN_LOOKS = 0.5
"""Seconds between checks of the memory of a process's descendants."""


class Worker:
    """Runs tasks one by one in one process, but each task of a third-party method in a new one.

    If `isolate` is false, third-party methods run in the shared process until one of them changes
    results there: the next task then has a new process. With a `gpu`, processes see only that GPU.
    """

    def __init__(self, limits: Limits, isolate: bool = True, gpu: Gpu | None = None) -> None:
        self._limits, self._isolate, self._gpu = limits, isolate, gpu
        self._runs = 1
        self._since: float | None = None
        self._looked = 0.0
        self._shared: Process | None = None
        self._current: Process | None = None
        self._data_server: DataServerProcess | None = None

    @property
    def channel(self) -> Channel:
        """The channel to the process of the latest task."""
        return self._process.channel

    @property
    def _process(self) -> Process:
        assert self._current
        return self._current

    def assign(self, task: Task) -> None:
        """Send the task; a dead process is noticed while waiting for its answer."""
        if self._isolate and has_third_party_code(task.runs[0]):
            self._current = Process(self._gpu, self._data_socket())
        else:
            self._current = self._shared = self._shared or Process(self._gpu)
        if self._gpu:
            task = replace(task, device="cuda")  # the only GPU that the process sees
        self._runs, self._since = len(task.runs), None
        if self._limits.bytes:
            memory.reset_high_water_mark(self._process.pid)
        with contextlib.suppress(OSError):
            self._process.channel.send(task)

    def _data_socket(self) -> socket.socket:
        """Return a socket to the data server, starting a new server if the last has ended."""
        if self._data_server and self._data_server.lives:
            with contextlib.suppress(OSError):  # it may be ending
                return self._data_server.connect()
        if self._data_server:
            self._data_server.dismiss()
        self._data_server = DataServerProcess()
        return self._data_server.connect()

    def message(self, readable: bool) -> Message | None:
        """Return the worker's message once it has arrived, or its termination if stopped."""
        try:
            message = self._process.channel.arrived() if readable else None
        except EOFError:
            event, lost = self._process.exit_status()
            if self._process.isolated and self._data_server and not self._data_server.lives:
                event = "gone"
            self._drop()
            return event, lost
        if message is None:
            return self._stopped()
        event, content = message
        if event == "begun":
            self._since = time.monotonic()
            return None
        if event == "broken":
            self._drop()
            return "died", content
        if event == "last" or (event != "progress" and self._process.isolated):
            self._drop()
        return "done" if event == "last" else event, content

    def messages(self, task: Task, waiting: Callable[[], None] = lambda: None) -> Iterator[Message]:
        """Run one task, and yield its messages, the last of which is its termination."""
        self.assign(task)
        while True:
            if message := self.message(bool(wait([self.channel.socket], TICK_SECONDS))):
                yield message
                if message[0] != "progress":
                    return
            waiting()

    def dismiss(self) -> None:
        """End the processes and their process trees; an idle process ends by itself."""
        for process in self._processes():
            process.dismiss()
        if self._data_server:
            self._data_server.dismiss()
        self._shared = self._current = self._data_server = None

    def terminate(self) -> None:
        """Ask the processes to end, whatever they are doing."""
        for process in self._processes():
            process.terminate()

    def _processes(self) -> list[Process]:
        return list({id(p): p for p in (self._shared, self._current) if p}.values())

    def _drop(self) -> None:
        """End the process of the latest task; the next task has another."""
        self._process.kill()
        if self._current is self._shared:
            self._shared = None
        self._current = None

    def _stopped(self) -> Message | None:
        """Kill the process if its task exceeds a limit, and return the message that says so."""
        if self._since is None:
            return None
        limits, message = self._limits, None
        if limits.seconds and time.monotonic() - self._since > limits.seconds * self._runs:
            message = "stopped", Lost(_too_long(limits.seconds, self._runs))
        if limits.bytes and self._memory() > limits.bytes:
            message = "died", Lost(f"needed more than {memory.in_words(limits.bytes)} of memory")
        if message:
            self._drop()
        return message

    def _memory(self) -> float:
        """Return the peak bytes of the process or, at intervals, the bytes of its process tree."""
        peak = memory.high_water_mark(self._process.pid)
        if time.monotonic() - self._looked > SECONDS_BETWEEN_LOOKS:
            self._looked = time.monotonic()
            return max(peak, subprocesses.memory(self._process.pid))
        return peak


def _too_long(seconds: float, runs: int) -> str:
    per_run = f" for each of {runs} runs fitted together" if runs > 1 else ""
    return f"ran longer than {seconds:g} s{per_run}"
