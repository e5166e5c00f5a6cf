"""Runs one task at a time, in a process that is stopped if it exceeds a limit."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.connection import wait
from typing import Any

from bnnbench.engine.run.drafts import ToScore
from bnnbench.engine.run.measuring import memory
from bnnbench.engine.run.sandbox.sandbox import Sandbox
from bnnbench.engine.run.serving import without_code
from bnnbench.engine.run.task import Task
from bnnbench.engine.workers import Gpu, Limits, reports, subprocesses
from bnnbench.engine.workers.base import Lost
from bnnbench.engine.workers.channel import Channel, Malformed
from bnnbench.engine.workers.child import Apart
from bnnbench.engine.workers.data_server import DataServerProcess
from bnnbench.engine.workers.process import Process
from bnnbench.engine.workers.travelling import pickled, pickled_task
from bnnbench.methods.networks.architectures import modules_in

Message = tuple[str, Any]
""""progress" with done, total, loss; else the `base.Termination` of the task."""

ERROR_APART = "an error outside the method's functions, in its own process"

MALFORMED = (
    "the process of the method sent its driver a message that bnnbench does not send, and was "
    "stopped; a method must not write to the sockets that it finds open"
)

IN_THIS_PROCESS = ", or let this process do all runs: --executor serial, workers=0 in Python"

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
        self._task = Task((), ())
        self._handed_over: list[list[bytes | None]] | None = None
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
        device = "cuda" if self._gpu else task.device  # the only GPU that the process sees
        task = replace(task, device=device, in_process=not self._isolate)
        self._task, self._handed_over = task, None
        # Confined, a process cannot write to the folder of checkpoints.
        sent = replace(task, checkpoints=None) if task.sandbox else task
        content = pickled_task(sent, or_else=IN_THIS_PROCESS)
        if self._isolate and task.has_third_party_code:
            self._current = Process(self._gpu, self._data_socket(task), _sandbox_of(task))
            self._send(pickled(Apart(task.device, content)))
        else:
            self._in_shared_process(content)

    def _in_shared_process(self, content: bytes) -> None:
        self._current = self._shared = self._shared or Process(self._gpu)
        self._send(content)

    def _send(self, content: bytes) -> None:
        self._since = None
        if self._limits.bytes:
            memory.reset_high_water_mark(self._process.pid)
        with contextlib.suppress(OSError):
            self._process.channel.forward(content)

    def _data_socket(self, task: Task) -> socket.socket:
        """Return a socket to the data server, starting a new server if the last has ended."""
        if self._data_server and self._data_server.lives:
            with contextlib.suppress(OSError):  # it may be ending
                return self._data_server.connect(task)
        if self._data_server:
            self._data_server.dismiss()
        self._data_server = DataServerProcess()
        return self._data_server.connect(task)

    def message(self, readable: bool) -> Message | None:
        """Return the worker's message once it has arrived, or its termination if stopped."""
        try:
            report = self._process.channel.told(reports.largest(self._task)) if readable else None
            if report is None:
                return self._stopped()
            event, content = reports.read(report, self._task)
        except EOFError:
            return self._ended()
        except Malformed as error:
            return self._dropped(("stopped", Lost(f"{MALFORMED}: {error}")))
        if event == "progress":
            return event, content
        if event == "begun" and self._since is None:
            self._since = time.monotonic()
            return None
        if event == "broken":
            return self._dropped(("died", content))
        if self._process.isolated:
            return self._of_isolated(event, content)
        if event == "last":
            return self._dropped(("done", content))
        if event not in ("done", "error"):
            return self._dropped(("stopped", Lost(f"{MALFORMED}: {event!r} of a shared process")))
        return event, content

    def _of_isolated(self, event: str, content: Any) -> Message | None:
        """Deal with a report of an isolated process: its drafts are scored in the shared one."""
        assert self._data_server
        if event == "predictions" and self._handed_over is None:
            self._handed_over = content
            with contextlib.suppress(OSError):  # if either has ended, it will be noticed
                self._data_server.reveal()
                self._process.channel.send("go on")
            return None
        if event == "drafts" and self._handed_over is not None:
            files = zip(content, self._handed_over, strict=True)
            drafts = [replace(d, predictions=one, trials=two) for d, (one, two) in files]
            if termination := self._dropped(None):
                return termination
            self._in_shared_process(pickled(ToScore(without_code(self._task), drafts)))
            return None
        if event == "error" and self._since is not None:  # who sent it may be the method
            return self._dropped(("stopped", Lost(f"{ERROR_APART}: {content}")))
        if event == "error":
            return self._dropped((event, content))
        return self._dropped(("stopped", Lost(f"{MALFORMED}: {event!r} out of turn")))

    def _ended(self) -> Message | None:
        """Return the termination of a task whose process has ended."""
        event, lost = self._process.exit_status()
        if self._process.isolated and self._data_server and not self._data_server.lives:
            event = "gone"
        return self._dropped((event, lost))

    def _dropped(self, termination: Message | None) -> Message | None:
        """End the process of the latest task, and return how the task ended.

        If an isolated process could not get its rows, that is the reason.
        """
        isolated = self._process.isolated
        self._drop()
        trouble = self._data_server.trouble() if isolated and self._data_server else None
        if isinstance(trouble, Lost):
            return "stopped", trouble
        return termination if trouble is None else ("error", trouble)

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
        limits, message, runs = self._limits, None, len(self._task.runs)
        if limits.seconds and time.monotonic() - self._since > limits.seconds * runs:
            message = "stopped", Lost(_too_long(limits.seconds, runs))
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


def _sandbox_of(task: Task) -> Sandbox | None:
    """Return the sandbox in which a task's method runs, which may read its network's weights."""
    layers = [layer for run in task.runs for layer in modules_in(run.architecture)]
    weights = {layer.weights for layer in layers if layer.weights}
    return task.sandbox and task.sandbox.with_readable(sorted(weights))


def _too_long(seconds: float, runs: int) -> str:
    per_run = f" for each of {runs} runs fitted together" if runs > 1 else ""
    return f"ran longer than {seconds:g} s{per_run}"
