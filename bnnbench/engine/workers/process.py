"""Worker processes and data servers, as seen from the driver."""

import contextlib
import os
import re
import signal
import socket
import weakref
from dataclasses import replace
from typing import Any

from bnnbench.engine.run.guards.write_faults import MARK
from bnnbench.engine.run.sandbox.sandbox import Sandbox, temporary_folder
from bnnbench.engine.workers import Gpu, subprocesses
from bnnbench.engine.workers.base import Lost
from bnnbench.engine.workers.channel import Channel
from bnnbench.engine.workers.child import work
from bnnbench.engine.workers.children import Child, send_signal, started

_FRAME = re.compile(r'File "(.*)", line (\d+) in (.*)')

LONGEST_CRASH = 2**16
SECONDS_TO_END = 10


class Process:
    """A process that runs tasks, the process tree that it leads, and a channel to it.

    An isolated process has a client's end of a data server, and runs a single task of a
    third-party method, in a sandbox if there is one.
    """

    def __init__(
        self,
        gpu: Gpu | None = None,
        data: socket.socket | None = None,
        sandbox: Sandbox | None = None,
    ) -> None:
        self.isolated = data is not None
        self._folder = temporary_folder() if sandbox else None
        confined = sandbox and self._folder and replace(sandbox, folder=self._folder.name)
        self.channel, theirs = Channel.pair()
        self._crashes, crash_end = socket.socketpair()
        environment = os.environ | (gpu.environment if gpu else {})
        arguments = theirs.socket, crash_end, data, confined
        self._process = started(work, *arguments, environment=environment)
        theirs.close()  # so that the worker's death closes the channel
        crash_end.close()
        if data:
            data.close()
        self.pid: int = self._process.pid
        self._descendants: list[Any] = []
        self._at_exit = weakref.finalize(self, _kill, self._process)

    def terminate(self) -> None:
        """Ask the process to end, whatever it is doing."""
        # After its end, descendants that left its session could not be found.
        self._descendants = subprocesses.descendants(self.pid)
        send_signal(self._process, signal.SIGTERM)

    def dismiss(self) -> None:
        """Close the channel, which ends an idle process, and end the rest of its process tree."""
        others = [*self._descendants, *subprocesses.descendants(self.pid)]
        self.channel.close()
        self._process.join(SECONDS_TO_END)
        self._end(others)

    def kill(self) -> None:
        """End the process and its process tree at once, if they have not ended."""
        if not self._at_exit.alive:
            return
        others = subprocesses.descendants(self.pid)
        self.channel.close()
        self._end(others)

    def exit_status(self) -> tuple[str, Lost]:
        """Return the `base.Termination` of a process that closed its channel.

        Ends its process tree.
        """
        others = subprocesses.descendants(self.pid)
        self._process.join(SECONDS_TO_END)
        code = self._process.exitcode
        text = self._crash()
        frame = _frame_in(text)
        self._end(others)
        reason = _described_exit(code) + (f" in {frame}" if frame else "")
        if MARK in text:
            reason += "; it wrote to its data, but data are read-only for a method: use a copy"
            return "stopped", Lost(reason, frame)
        return "died", Lost(reason, frame)

    def _end(self, others: list[Any]) -> None:
        subprocesses.end(self.pid, others)
        _kill(self._process)
        self.channel.close()
        self._crashes.close()
        if self._folder:
            self._folder.cleanup()
        self._at_exit.detach()

    def _crash(self) -> str:
        """Return what the process wrote about a fatal error; "" for nothing."""
        with contextlib.suppress(OSError):
            text = self._crashes.recv(LONGEST_CRASH, socket.MSG_DONTWAIT)
            return text.decode(errors="replace")
        return ""


def _frame_in(text: str) -> str | None:
    """Return file, line and function of a fatal error, ignoring frames in site-packages."""
    current = text.partition("Current thread")[2].partition("\n\n")[0]
    frames = _FRAME.findall(current)
    for file, line, function in [f for f in frames if "site-packages" not in f[0]] or frames:
        return f"{file}, line {line}, in {function}"
    return None


def _kill(process: Child) -> None:
    send_signal(process, signal.SIGKILL)
    process.join()


def _described_exit(code: int | None) -> str:
    """Return a sentence on how a process ended."""
    if code is None:
        return "the worker closed its channel"
    if code < 0:
        name = signal.Signals(-code).name
        hint = " (out of memory?)" if -code == signal.SIGKILL else ""
        return f"the worker was killed by {name}{hint}"
    return f"the worker exited with code {code}"
