"""One function call in a process of its own, for code that this process must not import.

The process answers in JSON, so that nothing in its answer runs here.
"""

import os
import signal
import socket
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import wait
from typing import Any

from bnnbench.engine.run.sandbox.sandbox import Sandbox, temporary_folder
from bnnbench.engine.workers import subprocesses
from bnnbench.engine.workers.base import prepare_process
from bnnbench.engine.workers.channel import Channel, Malformed, Plain
from bnnbench.engine.workers.children import send_signal, started
from bnnbench.engine.workers.interpreter import end_with_the_driver
from bnnbench.methods import own_files

LONGEST_ANSWER = 2**26
"""Maximum size of an answer in bytes."""


class NoAnswer(RuntimeError):
    """The call raised an error, took too long, or ended its process; the message says which."""


def answer(
    function: Callable[..., Any],
    *arguments: object,
    folder: str,
    seconds: float,
    sandbox: Sandbox | None = None,
) -> Any:
    """Return what a function returns, as JSON has it, from a process that can import a folder.

    Raises `NoAnswer`. The process and all that it started are gone afterwards.
    """
    if sandbox and not sandbox.folder:
        with temporary_folder() as lodging:
            confined = replace(sandbox, folder=lodging)
            return answer(function, *arguments, folder=folder, seconds=seconds, sandbox=confined)
    ours, theirs = Channel.pair()
    environment = {**os.environ, own_files.VARIABLE: folder}
    with theirs.socket:
        call = theirs.socket, sandbox, function, arguments
        process = started(_call, *call, environment=environment)
    try:
        return _received(ours, seconds)
    finally:
        subprocesses.end(process.pid, subprocesses.descendants(process.pid))
        send_signal(process, signal.SIGKILL)  # it may not lead a session yet
        process.join()
        ours.close()


def _received(end: Channel, seconds: float) -> Any:
    deadline = time.monotonic() + seconds
    try:
        while (told := end.told(LONGEST_ANSWER)) is None:
            if not wait([end.socket], max(deadline - time.monotonic(), 0)):
                raise NoAnswer(f"it took longer than {seconds:g} s")
        if told.content["error"] is None:
            return told.content["value"]
    except EOFError as error:
        raise NoAnswer("it ended its process") from error
    except (Malformed, KeyError, TypeError) as error:
        raise NoAnswer(f"its answer cannot be read: {error!r}") from error
    raise NoAnswer(str(told.content["error"]))


def _call(
    end: socket.socket,
    sandbox: Sandbox | None,
    function: Callable[..., Any],
    arguments: tuple[object, ...],
) -> None:
    subprocesses.become_group_leader()
    try:
        if sandbox:
            sandbox.confine()
        end_with_the_driver()  # by a thread, which must not exist before
        prepare_process()
        outcome = {"value": function(*arguments), "error": None}
    except BaseException as error:  # an import may even exit
        last = traceback.format_exception_only(error)[-1].strip()
        outcome = {"value": None, "error": last}
    with suppress(OSError):
        Channel(end).tell(Plain(outcome))
