"""A data server: workers receive only the rows they request."""

import os
import socket
import sys
from collections.abc import Mapping
from multiprocessing.connection import wait

from bnnbench.datasets.base import Dataset
from bnnbench.engine.run.rows import Request, ServedRows, answered
from bnnbench.engine.workers.channel import Channel
from bnnbench.engine.workers.context import started
from bnnbench.engine.workers.environment import adopt


class DataServerProcess:
    """The driver's end: it connects one client after the other. Ends with the driver."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        self._process = started(serve, theirs, dict(os.environ), daemon=True)
        theirs.close()

    def connect(self) -> socket.socket:
        """Return the socket for a new client, disconnecting the client before it.

        Raises OSError if the process has ended.
        """
        client, ours = socket.socketpair()
        with ours:
            try:
                socket.send_fds(self._control, [b"c"], [ours.fileno()])
            except OSError:
                client.close()
                raise
        return client

    @property
    def lives(self) -> bool:
        """True if the process can serve a client."""
        return self._process.is_alive()

    def dismiss(self) -> None:
        """End the process."""
        self._control.close()
        self._process.join()


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
