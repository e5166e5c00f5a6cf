"""The process that has a predictive class: it answers questions, and knows no target.

Such processes are forked from a nursery, which itself was forked before its parent held any data.
"""

import faulthandler
import importlib
import inspect
import os
import signal
import socket
import sys
import traceback
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing.connection import wait
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bnnbench.datasets.reading.withheld import withheld
from bnnbench.engine.run.sandbox.sandbox import Sandbox, SandboxUnavailable, temporary_folder
from bnnbench.engine.workers.answers.questions import (
    CALLS,
    CONSTANTS,
    PROPERTIES,
    array_file,
    with_arrays,
)
from bnnbench.engine.workers.channel import Channel, Plain
from bnnbench.engine.workers.interpreter import close_files_but
from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.predictions.base import CannotAnswer


class Lodged(Channel):
    """A channel to a confined process, which has a temporary folder until the channel is closed."""

    def __init__(self, end: socket.socket) -> None:
        super().__init__(end)
        self._folder = temporary_folder()
        self.folder = self._folder.name

    def close(self) -> None:
        """Close this end and remove the folder; the process ends."""
        super().close()
        self._folder.cleanup()


class Nursery:
    """A process that forks further ones; it ends with the process that made it."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        if os.fork() == 0:
            self._control.close()
            _tend(theirs)
        theirs.close()

    def born(self, sandbox: Sandbox | None = None) -> Channel:
        """Return a channel to a new process that answers questions, in a sandbox if given."""
        ours, theirs = Channel.pair()
        if sandbox:
            ours = Lodged(ours.socket)
            sandbox = replace(sandbox, folder=ours.folder)
        with theirs.socket:
            try:
                socket.send_fds(self._control, [b"n"], [theirs.fileno()])
                Channel(self._control).send([sandbox])
            except OSError:  # it was killed, and cannot be forked again from a process with data
                print("the process of third-party classes has ended", file=sys.stderr, flush=True)
                os._exit(1)
        return ours


def _tend(control: socket.socket) -> None:
    """Fork a process for every command. It has no file of the parent's but the standard streams."""
    faulthandler.disable()
    close_files_but(control.fileno())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    while True:
        command, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not command:
            os._exit(0)
        (sandbox,) = Channel(control).receive()
        if os.fork() == 0:
            control.close()
            try:
                refusal = _refusal(sandbox)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                answer(Channel(socket.socket(fileno=descriptors[0])), refusal)
            finally:
                os._exit(0)
        os.close(descriptors[0])


def _refusal(sandbox: Sandbox | None) -> Plain | None:
    """Confine this process; return the answer to all questions if that is impossible."""
    try:
        if sandbox:
            sandbox.confine()
    except SandboxUnavailable as error:
        return Plain({"unconfined": str(error)})
    return None


def answer(channel: Channel, refusal: Plain | None = None) -> None:
    """Answer questions until the channel is closed, all of them with a refusal if there is one."""
    objects: list[Any] = []
    with withheld():
        while True:
            wait([channel.socket])
            try:
                asked = channel.told()
            except EOFError:
                return
            if asked is not None:
                channel.tell(refusal or _answer(objects, asked))


def _answer(objects: list[Any], asked: Plain) -> Plain:
    name, subject, given = asked.content
    arguments = with_arrays(given, asked.files)
    try:
        if name == "unpack":
            path, *names = arguments
            arrays = dict(zip(names[: len(names) // 2], names[len(names) // 2 :], strict=True))
            return _encoded(objects, _class(path).unpack(arrays))
        if name == "each":
            function = getattr(objects[subject], arguments[0])
            return _encoded(objects, torch.stack([tensor_of(function(n)) for n in arguments[1]]))
        value = getattr(objects[subject], name)
        return _encoded(objects, value(*arguments) if name in (*CALLS, "pack") else value)
    except InferenceDiverged as reason:
        return Plain({"diverged": str(reason)})
    except Exception as error:
        absent = AttributeError if name in PROPERTIES else CannotAnswer
        if isinstance(error, absent):
            return Plain({"cannot": str(error)})
        return Plain({"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()})


def tensor_of(value: Any) -> Tensor:
    """Return an array as a tensor without gradient."""
    return value.detach().cpu() if isinstance(value, Tensor) else torch.from_numpy(value)


def _class(path: str) -> Any:
    module, _, name = path.partition(":")
    value: Any = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _encoded(objects: list[Any], value: Any) -> Plain:
    """Return an answer: an array, a plain value, or an object that stays here."""
    if isinstance(value, Tensor | np.ndarray):
        return Plain({"array": True}, (array_file(value),))
    if isinstance(value, Mapping):
        return Plain({"arrays": list(value)}, tuple(map(array_file, value.values())))
    if isinstance(value, tuple) and all(isinstance(one, Tensor) for one in value):
        return Plain({"arrays": [str(n) for n in range(len(value))]}, tuple(map(array_file, value)))
    if value is None or isinstance(value, bool | int | float | str):
        return Plain({"value": value})
    if isinstance(value, tuple | list | frozenset | set):
        return Plain({"value": [str(one) for one in value]})
    objects.append(value)
    constants = {name: getattr(value, name, None) for name in CONSTANTS}
    allowed = constants["may_be_infinite"] or ()
    return Plain(
        {
            "object": len(objects) - 1,
            "length": len(value),
            "names": [name for name in (*PROPERTIES, *CALLS) if _has(value, name)],
            "of_classes": None if constants["of_classes"] is None else bool(value.of_classes),
            "may_be_infinite": [str(name) for name in allowed],
        }
    )


_MISSING = object()


def _has(value: Any, name: str) -> bool:
    """Return whether the object has an attribute, without asking a property for its value."""
    return inspect.getattr_static(value, name, _MISSING) is not _MISSING
