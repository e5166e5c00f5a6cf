"""The server of `tests.warm`: `python -m tests.warm.server ADDRESS`, until its input ends."""

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path

from bnnbench.engine.workers import children, interpreter
from bnnbench.engine.workers.channel import Channel

IMPORTED = (
    "bnnbench.commands.report",
    "bnnbench.suites.check.contract",
    "bnnbench.commands.suite",
    "bnnbench.engine.method_settings.requested",
    "bnnbench.engine.workers.forked",
    "bnnbench.engine.workers.local",
    "bnnbench.engine.workers.clusters.slurm",
    "bnnbench.suites.uci",
    "bnnbench.suites.cifar10",
    "numba",
    "scipy.stats",
    "sklearn.datasets",
    "sklearn.model_selection",
)
"""Modules that the tests' commands import, and libraries that these import."""


def main(address: str) -> None:
    """Answer clients, each in a fork of this process."""
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    os.write(1, b".")
    signal.signal(signal.SIGCHLD, lambda *_: _reap())
    while True:
        ready, _, _ = select.select([listener, 0], [], [])
        if 0 in ready:
            shutil.rmtree(Path(address).parent)
            return
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _serve(connection, Path(address).parent)
            os._exit(0)
        connection.close()


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _serve(connection: socket.socket, folder: Path) -> None:
    """Carry out a client's command in a process, and report its number and its end.

    Others find the number behind a link that is named after the client.
    """
    client = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 3 * 4)
    link = folder / str(int.from_bytes(client[:4], sys.byteorder))
    start, streams, _, _ = socket.recv_fds(connection, 1, 3)
    line = start + connection.makefile("rb").readline()
    pid = os.fork()
    if pid == 0:
        connection.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        _end(_carried_out(*json.loads(line)))
    for stream in streams:
        os.close(stream)
    link.unlink(missing_ok=True)
    link.symlink_to(str(pid))
    connection.sendall(b"%d\n" % pid)
    process = os.pidfd_open(pid)
    ready, _, _ = select.select([process, connection], [], [])
    if process not in ready:  # the client is gone
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _carried_out(arguments: list[str], folder: str, environment: dict[str, str]) -> int:
    """Do what `python arguments` does, and return its code."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    searched = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [folder, *filter(None, searched), *sys.path]
    sys.orig_argv[:] = [sys.executable, *arguments]
    sys.stdin = os.fdopen(0, closefd=False)
    _fork_the_server_of_workers()
    try:
        _run(arguments)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _run(arguments: list[str]) -> None:
    while arguments[0] == "-u":
        arguments.pop(0)
    way, what, *rest = arguments
    sys.argv[:] = [what, *rest]
    if way == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    elif way == "-c":
        sys.argv[0] = way
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
    else:
        raise ValueError(f"{way} is neither -m nor -c")


def _fork_the_server_of_workers() -> None:
    """Let workers be forks of this process in its present state, without new imports.

    Like the server that a driver starts, this one leaves the driver's own signals alone.
    """

    control, theirs = socket.socketpair()
    if os.fork() == 0:
        interpreter.close_files_but(theirs.fileno())
        signal.pthread_sigmask(signal.SIG_BLOCK, children.DRIVERS_OWN)
        interpreter.serve(theirs.fileno())  # ends when its client has ended
    theirs.close()
    Channel(control).send([])
    children.use(children.Server(control, None))


def _end(code: int) -> None:
    threading._shutdown()  # pyright: ignore (what Python itself does at its end)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1])
