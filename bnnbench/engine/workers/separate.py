"""One function call in a process of its own, for code that this process must not import.

The process answers in JSON, so that nothing in its answer runs here.
"""

import json
import os
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from bnnbench.engine.run.sandbox.sandbox import Sandbox, temporary_folder
from bnnbench.engine.workers import subprocesses
from bnnbench.engine.workers.base import prepare_process

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
    ours, theirs = Pipe(duplex=False)
    environment = {**os.environ, subprocesses.own_files.VARIABLE: folder}
    process = subprocesses.started(_call, theirs, environment, sandbox, function, arguments)
    theirs.close()
    try:
        return _received(ours, seconds)
    finally:
        assert process.pid
        subprocesses.end(process.pid, subprocesses.descendants(process.pid))
        process.join()
        ours.close()


def _received(end: Connection, seconds: float) -> Any:
    try:
        if not end.poll(seconds):
            raise NoAnswer(f"it took longer than {seconds:g} s")
        outcome = json.loads(end.recv_bytes(LONGEST_ANSWER))
        if outcome["error"] is None:
            return outcome["value"]
    except (EOFError, OSError) as error:
        raise NoAnswer("it ended its process") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NoAnswer(f"its answer cannot be read: {error!r}") from error
    raise NoAnswer(str(outcome["error"]))


def _call(
    end: Connection,
    environment: Mapping[str, str],
    sandbox: Sandbox | None,
    function: Callable[..., Any],
    arguments: tuple[object, ...],
) -> None:
    subprocesses.become_group_leader()
    subprocesses.adopt(environment)
    try:
        if sandbox:
            sandbox.confine()
        prepare_process()
        outcome = {"value": function(*arguments), "error": None}
    except BaseException as error:  # an import may even exit
        last = traceback.format_exception_only(error)[-1].strip()
        outcome = {"value": None, "error": last}
    with suppress(OSError):
        end.send_bytes(json.dumps(outcome).encode())
