"""The main loop of a worker process: run incoming tasks, and report."""

import faulthandler
import multiprocessing
import os
import pickle
import socket
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection

from torch import AcceleratorError

from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.guards import canary
from bnnbench.engine.workers import process_tree
from bnnbench.engine.workers.base import device_failed, prepare_process
from bnnbench.engine.workers.channel import Channel
from bnnbench.engine.workers.data_server import connect_data_server
from bnnbench.engine.workers.environment import adopt
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
    process_tree.become_group_leader()
    adopt(environment)
    os.set_blocking(crashes.fileno(), False)
    faulthandler.enable(crashes.fileno())
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
    process_tree.end(os.getpid(), process_tree.descendants(os.getpid()))


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
