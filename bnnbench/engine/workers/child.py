"""The main loops of child processes: a worker runs tasks, a data server serves their rows."""

import faulthandler
import multiprocessing
import os
import pickle
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection, wait

from torch import AcceleratorError

from bnnbench.datasets.base import Dataset
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.guards import canary, write_faults
from bnnbench.engine.run.rows import Request, ServedRows, answered
from bnnbench.engine.workers import subprocesses
from bnnbench.engine.workers.base import device_failed, prepare_process
from bnnbench.engine.workers.subprocesses import Channel, adopt
from bnnbench.methods.fitting.progress import Listener

SECONDS_BETWEEN_REPORTS = 0.1


def work(
    end: socket.socket,
    crashes: Connection,
    environment: Mapping[str, str],
    data: socket.socket | None,
) -> None:
    """Run incoming tasks until the channel closes or a task has changed the process's results.

    Python writes the place of a fatal error to `crashes`. If `data` leads to a data server, fits
    in this process have no test rows.
    """
    subprocesses.become_group_leader()
    adopt(environment)
    os.set_blocking(crashes.fileno(), False)
    faulthandler.enable(crashes.fileno())
    if data:
        write_faults.mark_writes(crashes.fileno())
    data_server = connect_data_server(data) if data else None
    prepare_process()
    canary.expected()
    threading.Thread(target=_die_with_the_driver, daemon=True).start()
    channel = Channel(end)
    while True:
        try:
            task = channel.receive()
        except EOFError:
            return
        try:
            channel.send(("begun", None))
            listener = throttled(lambda *report: channel.send(("progress", report)))
            outcomes = execute(task, listener, data_server)
            message = ("last" if canary.has_process_changed() else "done", outcomes)
        except AcceleratorError as error:
            message = ("broken", device_failed(error))
        except Exception as error:
            message = ("error", _portable(error))
        channel.send(message)


def _die_with_the_driver() -> None:
    """End this process when the driver ends, even if killed by a signal."""
    driver = multiprocessing.parent_process()
    assert driver is not None
    driver.join()
    subprocesses.end(os.getpid(), subprocesses.descendants(os.getpid()))


def _portable(error: Exception) -> Exception:
    """Return the error with its traceback as a note, or as text if it cannot be pickled."""
    text = traceback.format_exc()
    error.add_note(f"In a worker process:\n{text}")
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(text)


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


def connect_data_server(client: socket.socket) -> ServedRows:
    """Return a client of the data server at the other end of a socket.

    The client's process ends if the server's has ended.
    """
    channel = Channel(client)

    def ask(request: Request) -> Dataset:
        try:
            channel.send(request)
            answer = channel.receive()
        except (EOFError, OSError):
            sys.exit("the data server has ended")
        if isinstance(answer, Exception):
            raise answer
        return answer

    return ServedRows(ask)


def serve(control: socket.socket, environment: Mapping[str, str]) -> None:
    """Answer the latest client's requests until the driver closes its end."""
    adopt(environment)
    client: Channel | None = None
    while True:
        if control in wait([control, client.socket] if client else [control]):
            message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            if client:
                client.close()
            if not message:
                return
            client = Channel(socket.socket(fileno=descriptors[0]))
        elif client and not _serve_request(client):
            client.close()
            client = None


def _serve_request(client: Channel) -> bool:
    """Answer a request if there is one; return whether more can come."""
    try:
        request = client.arrived()
        if request is not None:
            client.send(_answer(request))
    except (EOFError, OSError):
        return False
    return True


def _answer(request: Request) -> Dataset | Exception:
    try:
        return answered(request)
    except Exception as error:
        return error
