"""Child processes that import nothing of the program that starts them.

On Linux, they are forked in milliseconds from an interpreter that has only the imports that they
need. Elsewhere, where a fork is unsafe, each is an interpreter of its own.
"""

import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from typing import Any, Protocol, runtime_checkable

from bnnbench.engine.workers import subprocesses
from bnnbench.engine.workers.channel import Channel
from bnnbench.engine.workers.interpreter import NUMBER, Context, send_call

LOOKED_UP = "bnnbench.engine.workers.forked"

SLOW_TO_IMPORT = ("sklearn.datasets", "scipy.stats", "pandas", "numba")

DRIVERS_OWN = {signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2}
"""Signals from a terminal or a scheduler to all processes, which only the driver handles."""

UNKNOWN = 255
"""Exit code of a process whose server was killed, after which it is, too."""


@runtime_checkable
class Child(Protocol):
    """A process that this one has started."""

    @property
    def pid(self) -> int: ...

    @property
    def exitcode(self) -> int | None:
        """The exit code, negative for a signal; None while the process lives."""
        ...

    def join(self, seconds: float | None = None) -> None:
        """Wait for the process's end, at most for some seconds."""
        ...


def started(
    target: Callable[..., None], *arguments: Any, environment: Mapping[str, str] | None = None
) -> Child:
    """Return a process that calls `target` and ignores signals meant for the driver.

    `target` is a function of a module. Sockets among the arguments are passed to the process; the
    other arguments are pickled. It has this process's environment unless another one is given.
    """
    line, theirs = socket.socketpair()
    with theirs:
        on_linux = sys.platform == "linux"
        child = _forked(line, theirs, target) if on_linux else Interpreter(line, theirs)
    where = Context(_search_path(), os.getcwd(), dict(environment or os.environ))
    with suppress(OSError):  # the process has ended, as its exit code says
        send_call(line, where, target, arguments)
    return child


def send_signal(child: Child, number: int) -> None:
    """Send a signal to a process, unless it has ended."""
    if child.exitcode is None:
        with suppress(ProcessLookupError):
            os.kill(child.pid, number)


class Interpreter:
    """A process that is an interpreter of its own."""

    def __init__(self, line: socket.socket, theirs: socket.socket) -> None:
        self._line = line
        self._process = _interpreter("call", theirs)
        self.pid = self._process.pid

    @property
    def exitcode(self) -> int | None:
        self.join(0)
        return self._process.returncode

    def join(self, seconds: float | None = None) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
            self._line.close()


class Forked:
    """A process that a server has forked, and whose exit code it reports."""

    def __init__(self, line: socket.socket, report: socket.socket) -> None:
        self._line, self._report = line, report
        self._exitcode: int | None = None
        self.pid = self._number()
        if self.pid < 0:
            raise OSError(-self.pid, f"no process could be forked: {os.strerror(-self.pid)}")

    @property
    def exitcode(self) -> int | None:
        self.join(0)
        return self._exitcode

    def join(self, seconds: float | None = None) -> None:
        if self._exitcode is None and wait([self._report], seconds):
            try:
                self._exitcode = self._number()
            except EOFError:  # the server was killed, and leaves the process to itself
                subprocesses.end(self.pid, subprocesses.descendants(self.pid))
                with suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
                self._exitcode = UNKNOWN
            self._report.close()
            self._line.close()

    def _number(self) -> int:
        content = self._report.recv(NUMBER.size, socket.MSG_WAITALL)
        if len(content) < NUMBER.size:
            raise EOFError("the server of processes has ended")
        return NUMBER.unpack(content)[0]


class Server:
    """This process's end of an interpreter that forks processes."""

    def __init__(self, control: socket.socket, process: "subprocess.Popen[bytes] | None") -> None:
        self._control, self._process = control, process

    @classmethod
    def started(cls, modules: list[str]) -> "Server":
        """Return a server that has imported these modules."""
        control, theirs = socket.socketpair()
        with theirs:
            process = _interpreter("serve", theirs)
        Channel(control).send(modules)
        return cls(control, process)

    def fork(self, line: socket.socket, theirs: socket.socket) -> Forked:
        """Return a new process.

        Raises ConnectionError or EOFError if the server was killed, and another OSError if there
        are too many processes or files.
        """
        report, its = socket.socketpair()
        try:
            with its:
                socket.send_fds(self._control, [b"f"], [theirs.fileno(), its.fileno()])
            return Forked(line, report)
        except (OSError, EOFError):
            report.close()
            raise

    def close(self) -> None:
        """Close this end, which ends the server."""
        self._control.close()
        if self._process:
            self._process.wait()


_server: Server | None = None

_one_at_a_time = threading.Lock()


def use(server: Server | None) -> None:
    """Fork processes from this server."""
    global _server
    _server = server


def _forked(line: socket.socket, theirs: socket.socket, target: Callable[..., None]) -> Forked:
    with _one_at_a_time:
        if _server:
            with suppress(ConnectionError, EOFError):
                return _server.fork(line, theirs)
            _server.close()
        use(server := Server.started(_imported_again(target)))
        return server.fork(line, theirs)


def _imported_again(target: Callable[..., None]) -> list[str]:
    """Return the modules imported by this process that every worker would import again."""
    ours = [name for name in sys.modules if name.startswith("bnnbench.")]
    slow = [name for name in SLOW_TO_IMPORT if name in sys.modules]
    return [LOOKED_UP, target.__module__, *ours, *slow]


def _interpreter(function: str, end: socket.socket) -> "subprocess.Popen[bytes]":
    """Return an interpreter that calls a function of `interpreter` with one end of a socket."""
    code = (
        f"import sys; sys.path[:] = {_search_path()!r}; "
        f"from bnnbench.engine.workers.interpreter import {function}; {function}({end.fileno()})"
    )
    flags = subprocess._args_from_interpreter_flags()  # pyright: ignore[reportAttributeAccessIssue]
    command = [sys.executable, *flags, "-c", code]
    with _drivers_own_blocked():
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[end.fileno()])


def _search_path() -> list[str]:
    return [os.path.abspath(folder) for folder in sys.path if isinstance(folder, str)]


@contextmanager
def _drivers_own_blocked() -> Iterator[None]:
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, DRIVERS_OWN)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


@atexit.register
def _close() -> None:
    if _server:
        _server.close()


def _forget() -> None:
    """In a fork of this process, leave the server to the original."""
    global _server, _one_at_a_time
    if _server:
        _server._control.close()
    _server, _one_at_a_time = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)
