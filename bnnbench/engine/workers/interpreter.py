"""Interpreters for worker processes; nothing of the program that needs them is imported.

`serve` forks a process for every request, `call` carries out one call in this process. A process
learns what to do from its line, a socket whose other end its driver keeps open as long as it lives.
"""

import errno
import importlib
import os
import signal
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import Any, NoReturn

from bnnbench.engine.run.worker_process import become_worker
from bnnbench.engine.workers import subprocesses
from bnnbench.engine.workers.channel import Channel
from bnnbench.methods import own_files

NUMBER = struct.Struct(">q")
"""Process numbers and exit codes on the socket on which a server reports a process."""

MOST_FILES = 2**16
"""Numbers of open files are below this."""

MOST_SOCKETS = 16

MOST_SIGNALS = 2**16
"""Maximum number of ends of processes that are noted at once."""


@dataclass(frozen=True)
class Context:
    """Search path, working folder and environment, which a worker shares with its driver."""

    path: list[str]
    """Python's search path."""
    folder: str
    environment: Mapping[str, str]

    def adopt(self) -> None:
        """Replace the context of this process, which is older."""
        sys.path[:] = self.path
        with suppress(OSError):  # it may have been removed
            os.chdir(self.folder)
        for name in os.environ.keys() - self.environment.keys():
            del os.environ[name]
        os.environ.update(self.environment)
        own_files.search_folders()


@dataclass(frozen=True)
class Passed:
    """Stands for a socket among the arguments of a call."""


def send_call(
    line: socket.socket,
    where: Context,
    target: Callable[..., None],
    arguments: tuple[Any, ...],
) -> None:
    """Send a call to the process at the other end; sockets among its arguments travel with it."""
    sockets = [one for one in arguments if isinstance(one, socket.socket)]
    others = tuple(Passed() if isinstance(one, socket.socket) else one for one in arguments)
    channel = Channel(line)
    channel.send(where)
    socket.send_fds(line, [b"s"], [one.fileno() for one in sockets])
    channel.send((target, others))


def call(line: int) -> NoReturn:
    """Carry out the call that arrives on the line, and exit."""
    global _line
    become_worker()
    _line = socket.socket(fileno=line)
    try:
        target, arguments = _received(_line)
    except EOFError:  # the driver has ended
        os._exit(1)
    os._exit(_code_of(target, arguments))


def _received(line: socket.socket) -> tuple[Callable[..., None], list[Any]]:
    channel = Channel(line)
    channel.receive().adopt()
    _, descriptors, _, _ = socket.recv_fds(line, 1, MOST_SOCKETS)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    sockets = iter([socket.socket(fileno=descriptor) for descriptor in descriptors])
    target, arguments = channel.receive()
    return target, [next(sockets) if isinstance(one, Passed) else one for one in arguments]


def _code_of(target: Callable[..., None], arguments: list[Any]) -> int:
    """Return the exit code of a call, as Python has it for a program."""
    code = 1
    try:
        target(*arguments)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    return code


_line: socket.socket | None = None


def end_with_the_driver() -> None:
    """End this process and its tree when the driver ends, even if killed by a signal."""
    threading.Thread(target=_end_with_the_driver, daemon=True).start()


def _end_with_the_driver() -> None:
    assert _line is not None
    with suppress(OSError):
        _line.recv(1)
    subprocesses.end(os.getpid(), subprocesses.descendants(os.getpid()))


@dataclass
class _Forks:
    """The processes that a server has forked: number → the socket on which it reports them."""

    reports: dict[int, socket.socket] = field(default_factory=dict)

    def fork(self, control: socket.socket) -> bool:
        """Fork a process for a request; return false once the driver has ended.

        The report of one that could not be forked is the number of the error, negative.
        """
        try:
            command, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        except OSError:
            return False
        if not command:
            return False
        line, report = descriptors
        try:
            pid = os.fork()
        except OSError as error:  # too many processes, or too little memory
            pid = -(error.errno or errno.EAGAIN)
        if pid == 0:
            _become_fork(line)
        os.close(line)
        self.reports[pid] = socket.socket(fileno=report)
        self._tell(pid, pid)
        if pid < 0:
            self.reports.pop(pid).close()
        return True

    def reap(self) -> None:
        """Report the exit codes of processes that have ended."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                self._tell(pid, os.waitstatus_to_exitcode(status))
                self.reports.pop(pid).close()

    def _tell(self, pid: int, number: int) -> None:
        with suppress(OSError):  # nobody waits for it any more
            self.reports[pid].sendall(NUMBER.pack(number))


def _become_fork(line: int) -> NoReturn:
    """Carry out the call on the line without any other of the server's descriptors."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    close_files_but(line)
    call(line)


def close_files_but(number: int) -> None:
    """Close all files of this process but the standard streams and one other."""
    os.closerange(3, number)
    os.closerange(number + 1, MOST_FILES)


def serve(control: int) -> NoReturn:
    """Fork a process for every request on a socket until the driver has ended.

    The first message has the modules that every process would import again.
    """
    requests, forks = socket.socket(fileno=control), _Forks()
    _prepare(requests)
    ended, awake = socket.socketpair()
    awake.setblocking(False)
    signal.set_wakeup_fd(awake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready = wait([requests, ended])
        if ended in ready:
            ended.recv(MOST_SIGNALS)
            forks.reap()
        if requests in ready and not forks.fork(requests):
            os._exit(0)


def _prepare(requests: socket.socket) -> None:
    with suppress(EOFError):
        for name in Channel(requests).receive():
            with suppress(Exception):  # the worker that needs it will say so
                importlib.import_module(name)
